// All ranks of the algorithm in algorithm.h on one GPU, or, compiled as plain C++, on threads of a CPU: fills
// inputs, runs the kernel, checks every element, replays it as a CUDA graph with other inputs, and prints times
// with the columns of nccl-tests, beside a copy of as many bytes on the device.
//
// The element type is float; -DELEMENT=chorale::Float16 (Bfloat16, double, std::int32_t, ...) takes another one,
// -DREDUCTION=Max (Min, Prod) another operation, -DWIDEN adds halves as float32, -DIN_PLACE has input and output
// in one memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#ifdef __CUDACC__
#include "runtime/device/gpu.h"
#else
#include <chrono>
#include <memory>
#include <thread>

#include "runtime/device/cpu.h"
#include "runtime/device/kernel.h"
#endif

#include "algorithm.h"
#include "expected.h"
#include "options.h"

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef REDUCTION
#define REDUCTION Sum
#endif

namespace {

using chorale::Patience;
using chorale::PeerShape;
using chorale::PeerTables;
using chorale::Trouble;
using T = ELEMENT;
#ifdef WIDEN
using W = float;
#else
using W = T;
#endif
constexpr chorale::Reduction kReduction = chorale::Reduction::REDUCTION;
constexpr bool kWidened = !std::is_same_v<T, W>;
using Memory = chorale::SharedMemory<T, W>;

// --- What differs between a GPU and a CPU: memory, launches, time.

#ifdef __CUDACC__

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

class Device {
 public:
  Device() { require(cudaStreamCreate(&stream_), "cudaStreamCreate"); }

  template <typename V>
  V* allocate(long count) {
    void* memory = nullptr;
    const std::size_t bytes = sizeof(V) * std::max(count, 1l);
    require(cudaMalloc(&memory, bytes), "cudaMalloc");
    require(cudaMemset(memory, 0, bytes), "cudaMemset");
    return static_cast<V*>(memory);
  }
  template <typename V>
  void upload(V* to, const V* from, long count) {
    if (count > 0) require(cudaMemcpy(to, from, sizeof(V) * count, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  template <typename V>
  void download(V* to, const V* from, long count) {
    if (count > 0) require(cudaMemcpy(to, from, sizeof(V) * count, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

  // Slices and threads that can all be resident.
  void fit(Options& options) {
    int device = 0, processors = 0, resident = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
    if (options.threads == 0) options.threads = 512;
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, chorale::peer_kernel<kReduction, Memory>,
                                                          options.threads, 0),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const int blocks = static_cast<int>(std::size(algorithm::kBlockRows));
    const int most = processors * resident / blocks;
    if (options.slices == 0) options.slices = std::max(1, std::min(most, 32));
    if (options.slices <= most) return;
    std::fprintf(stderr, "%d slices of %d blocks cannot all be resident: use -s %d\n", options.slices, blocks,
                 most);
    std::exit(2);
  }

  void launch(const chorale::PeerLaunch<Memory>& given, int threads) {
    chorale::PeerLaunch<Memory> launch = given;
    void* arguments[] = {&launch};
    const unsigned slices = static_cast<unsigned>(launch.shape.slices);
    require(
        cudaLaunchCooperativeKernel(chorale::peer_kernel<kReduction, Memory>,
                                    dim3(static_cast<unsigned>(std::size(algorithm::kBlockRows)) * slices),
                                    dim3(threads), arguments, 0, stream_),
        "cudaLaunchCooperativeKernel");
    if (launch.average || kWidened)
      chorale::finish_kernel<kReduction, Memory><<<algorithm::kRanks * slices, threads, 0, stream_>>>(launch);
  }
  void finish() { require(cudaStreamSynchronize(stream_), "the kernel"); }

  // The launch as a graph, replayed so often; microseconds of one.
  double replay(const chorale::PeerLaunch<Memory>& given, int threads, int warm_up, int times) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    launch(given, threads);
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    const double us =
        timed(warm_up, times, [&] { require(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch"); });
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return us;
  }
  double copy(void* to, const void* from, std::size_t bytes, int times) {
    return timed(3, times, [&] {
      require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
    });
  }
  std::string name() {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    return properties.name;
  }

 private:
  template <typename Work>
  double timed(int warm_up, int times, Work work) {
    cudaEvent_t start, stop;
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    for (int i = 0; i < warm_up; ++i) work();
    require(cudaEventRecord(start, stream_), "cudaEventRecord");
    for (int i = 0; i < times; ++i) work();
    require(cudaEventRecord(stop, stream_), "cudaEventRecord");
    require(cudaEventSynchronize(stop), "the kernel");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return milliseconds * 1e3 / times;
  }

  cudaStream_t stream_ = nullptr;
};

using Launch = chorale::PeerLaunch<Memory>;

#else

struct Launch {
  PeerTables tables;
  PeerShape shape;
  Memory memory;
  Patience patience;
  bool average;
  int first_block, first_rank;
};

class Device {
 public:
  template <typename V>
  V* allocate(long count) {
    auto memory = std::make_unique<std::vector<char>>(sizeof(V) * std::max(count, 1l) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    V* const result = reinterpret_cast<V*>(memory->data() + (64 - address % 64) % 64);
    memory_.push_back(std::move(memory));
    return result;
  }
  template <typename V>
  void upload(V* to, const V* from, long count) {
    std::copy_n(from, count, to);
  }
  template <typename V>
  void download(V* to, const V* from, long count) {
    std::copy_n(from, count, to);
  }
  void fit(Options& options) {
    if (options.threads == 0) options.threads = 1;
    if (options.slices == 0) options.slices = 1;
  }

  void launch(const Launch& launch, int threads) {
    const int blocks = static_cast<int>(std::size(algorithm::kBlockRows));
    on_teams(blocks * launch.shape.slices, threads, [&](int b, chorale::CpuTeam& team) {
      kernel(launch, b / launch.shape.slices, b % launch.shape.slices, team).run();
    });
    if (launch.average || kWidened)
      on_teams(algorithm::kRanks * launch.shape.slices, threads, [&](int b, chorale::CpuTeam& team) {
        kernel(launch, 0, b % launch.shape.slices, team).finish(b / launch.shape.slices);
      });
  }
  void finish() {}
  double replay(const Launch& given, int threads, int warm_up, int times) {
    for (int i = 0; i < warm_up; ++i) launch(given, threads);
    return timed(times, [&] { launch(given, threads); });
  }
  double copy(void* to, const void* from, std::size_t bytes, int times) {
    return timed(times, [&] { std::memcpy(to, from, bytes); });
  }
  std::string name() { return "threads of the CPU"; }

 private:
  using Kernel = chorale::PeerKernel<kReduction, Memory, chorale::CpuTeam>;
  static Kernel kernel(const Launch& launch, int block, int slice, chorale::CpuTeam& team) {
    return Kernel(launch.tables, launch.shape, launch.memory, launch.patience, launch.average, block, slice,
                  team);
  }

  template <typename Work>
  static void on_teams(int teams, int threads, Work work) {
    std::vector<std::unique_ptr<chorale::CpuTeam::Shared>> shared;
    std::vector<std::thread> all;
    for (int b = 0; b < teams; ++b) {
      shared.push_back(std::make_unique<chorale::CpuTeam::Shared>(threads));
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&work, b, t, threads, mine = shared.back().get()] {
          chorale::CpuTeam team(t, threads, *mine);
          work(b, team);
        });
    }
    for (std::thread& thread : all) thread.join();
  }
  template <typename Work>
  static double timed(int times, Work work) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
           times;
  }

  std::vector<std::unique_ptr<std::vector<char>>> memory_ = {};
};

#endif

// --- The algorithm on such a device, for messages up to a size.

class Machine {
 public:
  Machine(Device& device, const Options& options, long most)
      : device_(device), options_(options), most_(most), expected_(kReduction) {
    launch_ = {};
    launch_.tables = {.rows = table(algorithm::kRows),
                      .places = table(algorithm::kPlaces),
                      .blocks = table(algorithm::kBlockRows),
                      .ranks = table(algorithm::kRankRows),
                      .all_ranks = algorithm::kRanks,
                      .pieces = algorithm::kPieces,
                      .double_scratch = algorithm::kDoubleScratch};
    launch_.shape.slices = options.slices;
    launch_.shape.tile = std::max<long>(16, 32768 / static_cast<long>(sizeof(W)));
    launch_.shape.segment = std::max(1l, std::min(most, options.segment / static_cast<long>(sizeof(T))));
    const long pitch = chorale::scratch_pitch<W>(launch_.tables, launch_.shape);
    std::vector<W*> works, scratches;
    std::vector<std::uint64_t*> counters;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      const chorale::PeerRankRow& rank = algorithm::kRankRows[n];
      inputs_.push_back(device.allocate<T>(begin(most, rank.input_chunks)));
      outputs_.push_back(device.allocate<T>(begin(most, rank.output_chunks)));
      works.push_back(kWidened ? device.allocate<W>(begin(most, rank.output_chunks))
                               : reinterpret_cast<W*>(outputs_.back()));
      scratches.push_back(
          device.allocate<W>(pitch * rank.scratch_chunks * (algorithm::kDoubleScratch ? 2 : 1)));
      counters.push_back(device.allocate<std::uint64_t>(static_cast<long>(rank.counters) * options.slices));
    }
    launch_.memory = {.inputs = on_device(inputs_),
                      .outputs = on_device(outputs_),
                      .works = on_device(works),
                      .scratches = on_device(scratches),
                      .all_counters = on_device(counters),
                      .launches = device.allocate<std::uint64_t>(
                          static_cast<long>(std::size(algorithm::kBlockRows)) * options.slices)};
    trouble_ = device.allocate<Trouble>(1);
    launch_.patience = {.nanoseconds = static_cast<std::uint64_t>(options.patience * 1e9),
                        .trouble = trouble_};
  }

  // Inputs of this seed, everything else spoilt.
  void prepare(long elements, unsigned seed) {
    launch_.shape.elements = elements;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      const chorale::PeerRankRow& rank = algorithm::kRankRows[n];
      std::vector<T> values[2] = {std::vector<T>(begin(elements, rank.input_chunks), T(99)),
                                  std::vector<T>(begin(elements, rank.output_chunks), T(99))};
      for (int slot = 0; slot < rank.input_chunks; ++slot) {
        const chorale::PeerPlaceRow& at = algorithm::kPlaces[rank.inputs + slot];
        for (long e = begin(elements, at.index); e < begin(elements, at.index + 1); ++e)
          values[at.buffer][e] = expected_.input<T>(n, slot, e - begin(elements, at.index), seed);
      }
      device_.upload(inputs_[n], values[0].data(), static_cast<long>(values[0].size()));
      device_.upload(outputs_[n], values[1].data(), static_cast<long>(values[1].size()));
    }
  }

  void run() {
    device_.launch(launch_, options_.threads);
    device_.finish();
    complain();
  }
  // As a graph, replayed; microseconds of one.
  double replay(int warm_up, int times) {
    const double us = device_.replay(launch_, options_.threads, warm_up, times);
    complain();
    return us;
  }

  long wrong(unsigned seed) {
    const long elements = launch_.shape.elements;
    long wrong = 0;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      const chorale::PeerRankRow& rank = algorithm::kRankRows[n];
      std::vector<T> values[2] = {std::vector<T>(begin(elements, rank.input_chunks)),
                                  std::vector<T>(begin(elements, rank.output_chunks))};
      device_.download(values[0].data(), inputs_[n], static_cast<long>(values[0].size()));
      device_.download(values[1].data(), outputs_[n], static_cast<long>(values[1].size()));
      expected_.for_each_promise(n, [&](int slot, const auto& value) {
        const chorale::PeerPlaceRow& at = algorithm::kPlaces[rank.outputs + slot];
        for (long e = begin(elements, at.index); e < begin(elements, at.index + 1); ++e)
          wrong += !(values[at.buffer][e] == value.template at<T>(e - begin(elements, at.index), seed));
      });
    }
    return wrong;
  }

  // A copy of as many bytes as all ranks have in their largest buffers.
  double copy(long bytes, int times) {
    const std::size_t all = static_cast<std::size_t>(bytes) * algorithm::kRanks;
    if (room_ == nullptr) room_ = device_.allocate<char>(2 * algorithm::kRanks * buffer_bytes(most_));
    return device_.copy(room_ + all, room_, all, times);
  }

  static long buffer_bytes(long elements) {
    long most = 0;
    for (const chorale::PeerRankRow& rank : algorithm::kRankRows)
      most = std::max({most, begin(elements, rank.input_chunks), begin(elements, rank.output_chunks)});
    return most * static_cast<long>(sizeof(T));
  }

 private:
  static long begin(long elements, int slot) {
    return slot / algorithm::kPieces * elements +
           static_cast<long>(chorale::piece_start(elements, algorithm::kPieces, slot % algorithm::kPieces));
  }

  template <typename Row, std::size_t count>
  const Row* table(const Row (&rows)[count]) {
    Row* const there = device_.allocate<Row>(static_cast<long>(count));
    device_.upload(there, rows, static_cast<long>(count));
    return there;
  }
  template <typename V>
  V** on_device(const std::vector<V*>& pointers) {
    V** const there = device_.allocate<V*>(static_cast<long>(pointers.size()));
    device_.upload(there, pointers.data(), static_cast<long>(pointers.size()));
    return there;
  }

  void complain() {
    Trouble trouble;
    device_.download(&trouble, trouble_, 1);
    if (trouble.state == 0) return;
    const chorale::PeerBlockRow& block = algorithm::kBlockRows[trouble.block];
    const chorale::PeerRow& row = algorithm::kRows[block.row + trouble.row];
    std::fprintf(stderr,
                 "rank %d, slice %d, instruction %d: rank %d did not raise counter %d to %d within %.3g s\n",
                 block.rank, trouble.slice, trouble.row, row.rank, row.counter, row.value, options_.patience);
    std::exit(3);
  }

  Device& device_;
  const Options options_;
  const long most_;
  const Expected expected_;
  Launch launch_;
  std::vector<T*> inputs_ = {}, outputs_ = {};
  Trouble* trouble_ = nullptr;
  char* room_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  Device device;
  device.fit(options);
  const auto elements = [](long bytes) { return bytes / algorithm::kBlocks / static_cast<long>(sizeof(T)); };
  Machine machine(device, options, elements(std::max(options.from, options.to)));
  std::printf(
      "# %s\n# %d virtual ranks on %s, %d slices of %d threads; copy: %d x size on the device\n"
      "#%12s %12s %12s %12s %12s %12s %8s\n",
      algorithm::kName, algorithm::kRanks, device.name().c_str(), options.slices, options.threads,
      algorithm::kRanks, "size (B)", "count", "time (us)", "algbw (GB/s)", "busbw (GB/s)", "copy (us)",
      "#wrong");
  long all_wrong = 0;
  for (long size = std::max(options.from, 1l); size <= options.to; size *= options.factor) {
    const long count = elements(size);
    machine.prepare(count, 1);
    machine.run();
    long wrong = machine.wrong(1);
    machine.prepare(count, 2);
    const double us = machine.replay(3, options.iterations);
#ifdef IN_PLACE
    machine.prepare(count, 2);  // a run leaves no inputs for the next one
    machine.replay(0, 1);
#endif
    wrong += machine.wrong(2);
    const double bytes = static_cast<double>(count) * sizeof(T) * algorithm::kBlocks;
    const double copy = machine.copy(Machine::buffer_bytes(count), options.iterations);
    std::printf(" %12.0f %12ld %12.2f %12.3f %12.3f %12.2f %8ld\n", bytes, count, us, bytes / us / 1e3,
                bytes / us / 1e3 * algorithm::kBusFactor, copy, wrong);
    all_wrong += wrong;
  }
  if (all_wrong > 0) std::fprintf(stderr, "%ld wrong elements\n", all_wrong);
  return all_wrong == 0 ? 0 : 1;
}
