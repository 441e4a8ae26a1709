// The algorithm in algorithm.h on real GPUs, a process each under mpirun: the kernel over NCCL's windows, with
// loads and stores inside of a node and GIN between nodes. Fills inputs, runs, checks every element, replays as a
// CUDA graph with other inputs, and prints times with the columns of nccl-tests. Needs NCCL 2.28 and MPI.
//
//   make peers && mpirun -n RANKS ./peers_gpu
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "algorithm.h"
#include "expected.h"
#include "options.h"
#include "ranks.h"
#include "runtime/device/gpu.h"
#include "runtime/device/nccl_memory.h"

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef REDUCTION
#define REDUCTION Sum
#endif

namespace {

using T = ELEMENT;
using Memory = chorale::NcclMemory<T>;
constexpr chorale::Reduction kReduction = chorale::Reduction::REDUCTION;

long begin(long elements, int slot) {
  return slot / algorithm::kPieces * elements +
         static_cast<long>(chorale::piece_start(elements, algorithm::kPieces, slot % algorithm::kPieces));
}
std::size_t aligned(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

template <typename V>
V* on_device(const V* from, std::size_t count) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, sizeof(V) * count), "cudaMalloc");
  if (from != nullptr)
    require(cudaMemcpy(memory, from, sizeof(V) * count, cudaMemcpyHostToDevice), "cudaMemcpy");
  else
    require(cudaMemset(memory, 0, sizeof(V) * count), "cudaMemset");
  return static_cast<V*>(memory);
}

// This rank's part of the algorithm.
class Machine {
 public:
  Machine(int rank, ncclComm_t comm, const Options& options, long most)
      : rank_(rank), comm_(comm), options_(options), expected_(kReduction) {
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    launch_.tables = {.rows = on_device(algorithm::kRows, std::size(algorithm::kRows)),
                      .places = on_device(algorithm::kPlaces, std::size(algorithm::kPlaces)),
                      .blocks = on_device(algorithm::kBlockRows, std::size(algorithm::kBlockRows)),
                      .ranks = on_device(algorithm::kRankRows, std::size(algorithm::kRankRows)),
                      .all_ranks = algorithm::kRanks,
                      .pieces = algorithm::kPieces,
                      .double_scratch = algorithm::kDoubleScratch};
    launch_.shape = {.elements = 0,
                     .segment = std::max(1l, std::min(most, options.segment / static_cast<long>(sizeof(T)))),
                     .tile = 32768 / static_cast<long>(sizeof(T)),
                     .slices = options.slices};
    launch_.average = false;
    launch_.first_rank = rank;
    launch_.first_block = 0;
    while (algorithm::kBlockRows[launch_.first_block].rank != rank) ++launch_.first_block;
    blocks_ = static_cast<int>(
        std::count_if(std::begin(algorithm::kBlockRows), std::end(algorithm::kBlockRows),
                      [&](const chorale::PeerBlockRow& block) { return block.rank == rank; }));
    make_window();
    Memory& memory = launch_.memory;
    memory.own_input = on_device<T>(nullptr, begin(most, algorithm::kRankRows[rank].input_chunks) + 1);
    memory.own_output = on_device<T>(nullptr, begin(most, algorithm::kRankRows[rank].output_chunks) + 1);
    memory.launches = on_device<std::uint64_t>(nullptr, std::size(algorithm::kBlockRows) * options.slices);
    trouble_ = on_device<chorale::Trouble>(nullptr, 1);
    launch_.patience = {.nanoseconds = static_cast<std::uint64_t>(options.patience * 1e9),
                        .trouble = trouble_};
  }

  ~Machine() {
    ncclDevCommDestroy(comm_, &launch_.memory.comm);
    ncclCommWindowDeregister(comm_, launch_.memory.window);
    ncclMemFree(window_memory_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Inputs of this seed, everything else spoilt.
  void prepare(long elements, unsigned seed) {
    launch_.shape.elements = elements;
    const chorale::PeerRankRow& rank = algorithm::kRankRows[rank_];
    std::vector<T> values[2] = {std::vector<T>(begin(elements, rank.input_chunks), T(99)),
                                std::vector<T>(begin(elements, rank.output_chunks), T(99))};
    for (int slot = 0; slot < rank.input_chunks; ++slot) {
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[rank.inputs + slot];
      for (long e = begin(elements, at.index); e < begin(elements, at.index + 1); ++e)
        values[at.buffer][e] = expected_.input<T>(rank_, slot, e - begin(elements, at.index), seed);
    }
    require(cudaMemcpy(launch_.memory.own_input, values[0].data(), sizeof(T) * values[0].size(),
                       cudaMemcpyHostToDevice),
            "cudaMemcpy");
    require(cudaMemcpy(launch_.memory.own_output, values[1].data(), sizeof(T) * values[1].size(),
                       cudaMemcpyHostToDevice),
            "cudaMemcpy");
  }

  void run() {
    launch();
    finish();
  }

  // Microseconds of one launch, of the slowest rank.
  double replay(int warm_up, int times) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    launch();
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    cudaEvent_t start, stop;
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    for (int i = 0; i < warm_up; ++i) require(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch");
    finish();
    MPI_Barrier(MPI_COMM_WORLD);
    require(cudaEventRecord(start, stream_), "cudaEventRecord");
    for (int i = 0; i < times; ++i) require(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch");
    require(cudaEventRecord(stop, stream_), "cudaEventRecord");
    finish();
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    double us = milliseconds * 1e3 / times;
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return us;
  }

  // Of all ranks.
  long wrong(unsigned seed) {
    const long elements = launch_.shape.elements;
    const chorale::PeerRankRow& rank = algorithm::kRankRows[rank_];
    std::vector<T> values[2] = {std::vector<T>(begin(elements, rank.input_chunks)),
                                std::vector<T>(begin(elements, rank.output_chunks))};
    require(cudaMemcpy(values[0].data(), launch_.memory.own_input, sizeof(T) * values[0].size(),
                       cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    require(cudaMemcpy(values[1].data(), launch_.memory.own_output, sizeof(T) * values[1].size(),
                       cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    long wrong = 0;
    expected_.for_each_promise(rank_, [&](int slot, const auto& value) {
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[rank.outputs + slot];
      for (long e = begin(elements, at.index); e < begin(elements, at.index + 1); ++e)
        wrong += !(values[at.buffer][e] == value.template at<T>(e - begin(elements, at.index), seed));
    });
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return wrong;
  }

 private:
  // Scratch, counters and outboxes, at the same places in all ranks.
  void make_window() {
    long scratch = 0, counters = 0;
    for (const chorale::PeerRankRow& rank : algorithm::kRankRows) {
      scratch = std::max<long>(scratch, rank.scratch_chunks);
      counters = std::max<long>(counters, rank.counters);
    }
    Memory& memory = launch_.memory;
    const long pitch = chorale::scratch_pitch<T>(launch_.tables, launch_.shape);
    memory.scratch_size = aligned(sizeof(T) * pitch * scratch * (algorithm::kDoubleScratch ? 2 : 1));
    const std::size_t counter_bytes = aligned(sizeof(std::uint64_t) * counters * options_.slices);
    const bool far = ncclTeamLsa(comm_).nRanks < algorithm::kRanks;
    memory.scratch_at = 0;
    memory.counters_at = memory.scratch_size;
    memory.outboxes_at = memory.counters_at + counter_bytes;
    const std::size_t size = memory.outboxes_at + (far ? memory.scratch_size * algorithm::kRanks : 0);
    require(ncclMemAlloc(&window_memory_, size), "ncclMemAlloc");
    require(cudaMemset(window_memory_, 0, size), "cudaMemset");
    require(ncclCommWindowRegister(comm_, window_memory_, size, &memory.window, NCCL_WIN_COLL_SYMMETRIC),
            "ncclCommWindowRegister");
    ncclDevCommRequirements requirements = no_requirements();
#ifdef CHORALE_GIN
    if (far) {
      requirements.ginForceEnable = true;
      requirements.ginContextCount = 1;
      requirements.ginSignalCount = static_cast<int>(counters * options_.slices);
    }
#else
    if (far) fail("peers", "some ranks are on other nodes, and this NCCL has no GIN");
#endif
    require(ncclDevCommCreate(comm_, &requirements, &memory.comm), "ncclDevCommCreate");
    // Nobody stores into memory that its owner still clears.
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void launch() {
    void* arguments[] = {&launch_};
    require(cudaLaunchCooperativeKernel(chorale::peer_kernel<kReduction, Memory>,
                                        dim3(static_cast<unsigned>(blocks_ * options_.slices)),
                                        dim3(options_.threads), arguments, 0, stream_),
            "cudaLaunchCooperativeKernel");
  }

  void finish() {
    require(cudaStreamSynchronize(stream_), "the kernel");
    chorale::Trouble trouble;
    require(cudaMemcpy(&trouble, trouble_, sizeof trouble, cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (trouble.state == 0) return;
    const chorale::PeerRow& row = algorithm::kRows[algorithm::kBlockRows[trouble.block].row + trouble.row];
    std::fprintf(stderr,
                 "rank %d, slice %d, instruction %d: rank %d did not raise counter %d to %d within %.3g s\n",
                 rank_, trouble.slice, trouble.row, row.rank, row.counter, row.value, options_.patience);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }

  const int rank_;
  ncclComm_t comm_;
  const Options options_;
  const Expected expected_;
  chorale::PeerLaunch<Memory> launch_ = {};
  int blocks_ = 0;
  void* window_memory_ = nullptr;
  chorale::Trouble* trouble_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

void measure(int rank, ncclComm_t comm, const Options& options) {
  const auto elements = [](long bytes) { return bytes / algorithm::kBlocks / static_cast<long>(sizeof(T)); };
  Machine machine(rank, comm, options, elements(std::max(options.from, options.to)));
  if (rank == 0)
    std::printf("# %s\n# %d ranks, %d slices of %d threads\n#%12s %12s %12s %12s %12s %8s\n",
                algorithm::kName, algorithm::kRanks, options.slices, options.threads, "size (B)", "count",
                "time (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong");
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
    if (rank == 0)
      std::printf(" %12.0f %12ld %12.2f %12.3f %12.3f %8ld\n", bytes, count, us, bytes / us / 1e3,
                  bytes / us / 1e3 * algorithm::kBusFactor, wrong);
    all_wrong += wrong;
  }
  if (all_wrong > 0) fail("peers", "wrong elements");
}

}  // namespace

int main(int argc, char** argv) {
  return on_ranks(algorithm::kRanks, argc, argv, measure);
}
