// The AllReduce of out_of_place.h as a library for serving engines (make hook), which
// examples/custom_allreduce.py of Chorale loads where vLLM and SGLang have a kernel of their own. One process
// per GPU of one node; each has a region of device memory, scratch and counters, that the others map (CUDA
// IPC). A call is one launch in the caller's stream. No argument changes from launch to launch but those of
// the caller, and counters only rise, so a graph of calls may be captured and replayed; peers access regions
// alone, so the caller's tensors need no registration.
//
// Types share the regions: pieces and tiles have as many bytes in each of them, so that a thread block finds
// in a slot what the same block of an earlier launch has left to be overwritten.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "gpu_calls.h"
#include "measure.h"
#include "out_of_place.h"
#include "runtime/device/gpu.h"
#include "runtime/device/kernel.h"

#ifndef PATIENCE
#define PATIENCE 60  // seconds of a wait for a peer
#endif

namespace {

constexpr long kTileBytes = 4096, kMostSegmentBytes = 1 << 20;
constexpr int kThreads = 512;

thread_local std::string last_error;

bool good(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return true;
  last_error = std::string(what) + ": " + cudaGetErrorString(code);
  return false;
}

long rounded_up(long bytes, long unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Bytes of the vector that one launch of the program does, a multiple of 16 in each piece.
long segment_of(long most_bytes) {
  const long unit = 16 * algorithm::kPieces;
  return rounded_up(std::min(std::max(most_bytes, unit), kMostSegmentBytes), unit);
}

long scratch_bytes(long most_bytes) {
  long chunks = 0;
  for (const chorale::PeerRankRow& rank : algorithm::kRankRows)
    chunks = std::max<long>(chunks, rank.scratch_chunks);
  return rounded_up(
      segment_of(most_bytes) / algorithm::kPieces * chunks * (algorithm::kDoubleScratch ? 2 : 1), 4096);
}

template <typename T>
struct RegionMemory : chorale::OwnMemory<T, algorithm::Function> {
  static constexpr bool kCarries = false, kSwitch = false;

  char* regions[algorithm::kRanks];  // of all ranks, as this process maps them
  std::size_t counters_at;

  __device__ T* scratch(int rank) const { return reinterpret_cast<T*>(regions[rank]); }
  __device__ std::uint64_t* counters(int rank) const {
    return reinterpret_cast<std::uint64_t*>(regions[rank] + counters_at);
  }
  __device__ void raise(int rank, int counter, std::uint64_t value) const {
    chorale::store_release(counters(rank) + counter, value);
  }
  __device__ std::uint64_t value(int rank, int counter, int) const {
    return chorale::load_acquire(counters(rank) + counter);
  }
};

// What all calls of a rank have in common.
struct Rank {
  int rank = 0, slices = 1;
  long most_bytes = 0;
  chorale::PeerTables tables = {};
  std::uint64_t* launches = nullptr;
  chorale::Trouble* trouble = nullptr;
  char* regions[algorithm::kRanks] = {};
};

template <typename V>
V* on_device(const V* from, std::size_t count) {
  void* memory = nullptr;
  const std::size_t bytes = sizeof(V) * std::max<std::size_t>(count, 1);
  if (!good(cudaMalloc(&memory, bytes), "cudaMalloc") || !good(cudaMemset(memory, 0, bytes), "cudaMemset"))
    return nullptr;
  if (from != nullptr && !good(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy"))
    return nullptr;
  return static_cast<V*>(memory);
}

int first_block(int rank) {
  int first = 0;
  while (algorithm::kBlockRows[first].rank != rank) ++first;
  return first;
}

int blocks_of(int rank) {
  return static_cast<int>(std::count_if(std::begin(algorithm::kBlockRows), std::end(algorithm::kBlockRows),
                                        [&](const auto& block) { return block.rank == rank; }));
}

template <typename T>
using Sum = chorale::PeerLaunch<RegionMemory<T>, chorale::Always<chorale::Combination::Sum>>;

template <typename T>
int launch(const Rank& of, const void* input, void* output, long bytes, cudaStream_t stream) {
  Sum<T> launch = {};
  launch.tables = of.tables;
  launch.shape = {.elements = bytes / static_cast<long>(sizeof(T)),
                  .segment = segment_of(of.most_bytes) / static_cast<long>(sizeof(T)),
                  .tile = kTileBytes / static_cast<long>(sizeof(T)),
                  .slices = of.slices};
  launch.first_rank = of.rank;
  launch.first_block = first_block(of.rank);
  std::copy(std::begin(of.regions), std::end(of.regions), launch.memory.regions);
  launch.memory.counters_at = static_cast<std::size_t>(scratch_bytes(of.most_bytes));
  launch.memory.own_input = static_cast<T*>(const_cast<void*>(input));
  launch.memory.own_output = static_cast<T*>(output);
  launch.memory.launches = of.launches;
  launch.patience = {.nanoseconds = PATIENCE * 1'000'000'000ull, .trouble = of.trouble};
  void* arguments[] = {&launch};
  const auto kernel = chorale::peer_kernel<RegionMemory<T>, chorale::Always<chorale::Combination::Sum>>;
  return good(cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(blocks_of(of.rank) * of.slices)),
                                          dim3(kThreads), arguments, 0, stream),
              "cudaLaunchCooperativeKernel")
             ? 0
             : 1;
}

}  // namespace

// For gpu_calls.h, whose functions that end the program are not called here.
void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::abort();
}

extern "C" {

const char* chorale_last_error() {
  return last_error.c_str();
}
int chorale_ranks() {
  return algorithm::kRanks;
}
int chorale_handle_bytes() {
  return static_cast<int>(sizeof(cudaIpcMemHandle_t));
}

// The region of this rank for messages of up to so many bytes, on the current device, and its handle for the
// other processes. Null: chorale_last_error has the reason.
void* chorale_region(long most_bytes, int slices, void* handle) {
  long counters = 0;
  for (const chorale::PeerRankRow& rank : algorithm::kRankRows)
    counters = std::max<long>(counters, rank.counters);
  const long bytes = scratch_bytes(most_bytes) + static_cast<long>(sizeof(std::uint64_t)) * counters * slices;
  char* const region = on_device<char>(nullptr, static_cast<std::size_t>(bytes));
  if (region == nullptr) return nullptr;
  cudaIpcMemHandle_t own;
  // No rank stores into memory that its owner still clears.
  if (!good(cudaIpcGetMemHandle(&own, region), "cudaIpcGetMemHandle") ||
      !good(cudaDeviceSynchronize(), "cudaDeviceSynchronize"))
    return nullptr;
  std::memcpy(handle, &own, sizeof own);
  return region;
}

void* chorale_map(const void* handle) {
  cudaIpcMemHandle_t its;
  std::memcpy(&its, handle, sizeof its);
  void* region = nullptr;
  return good(cudaIpcOpenMemHandle(&region, its, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle")
             ? region
             : nullptr;
}

// `regions`: of all ranks. All ranks have mapped all of them before the first call.
void* chorale_create(int rank, void* const* regions, long most_bytes, int slices) {
  Rank* const made = new Rank{.rank = rank, .slices = slices, .most_bytes = most_bytes};
  made->tables =
      tables_by([]<typename Row>(const Row* rows, std::size_t count) { return on_device(rows, count); });
  made->launches =
      on_device<std::uint64_t>(nullptr, std::size(algorithm::kBlockRows) * static_cast<std::size_t>(slices));
  made->trouble = on_device<chorale::Trouble>(nullptr, 1);
  for (int n = 0; n < algorithm::kRanks; ++n) made->regions[n] = static_cast<char*>(regions[n]);
  return made;
}

// A sum over all ranks, which all call it in one order, in `stream`; nothing is waited for. type: 0 float32,
// 1 float16, 2 bfloat16. 0, or chorale_last_error has the reason.
int chorale_all_reduce(void* of, const void* input, void* output, long bytes, int type, void* stream) {
  const Rank& rank = *static_cast<const Rank*>(of);
  const auto at = static_cast<cudaStream_t>(stream);
  if (input == output || bytes > rank.most_bytes) {
    last_error =
        input == output ? "the output is the input" : "the message is longer than the regions are for";
    return 1;
  }
  if (type == 0) return launch<float>(rank, input, output, bytes, at);
  if (type == 1) return launch<chorale::Float16>(rank, input, output, bytes, at);
  return launch<chorale::Bfloat16>(rank, input, output, bytes, at);
}

// Whether all that was put into the stream is done: 1, or 0; -1: it has failed.
int chorale_is_idle(void* stream) {
  const cudaError_t code = cudaStreamQuery(static_cast<cudaStream_t>(stream));
  if (code == cudaErrorNotReady) return 0;
  return good(code, "cudaStreamQuery") ? 1 : -1;
}

// Waits for the device. Whether a wait for a peer has timed out: 0, or 1 and a line on standard error;
// results are invalid from then on.
int chorale_is_stuck(void* of) {
  chorale::Trouble trouble;
  if (!good(
          cudaMemcpy(&trouble, static_cast<const Rank*>(of)->trouble, sizeof trouble, cudaMemcpyDeviceToHost),
          "cudaMemcpy"))
    return 1;
  return complain(trouble, PATIENCE) ? 1 : 0;
}

}  // extern "C"
