// The algorithm in algorithm.h on real GPUs, one process each under mpirun: the kernel over NCCL's windows,
// with loads and stores inside of a node and GIN between nodes. Fills inputs, runs, checks every element,
// replays as a CUDA graph with other inputs, and prints times with the columns of nccl-tests. Needs NCCL 2.28
// and MPI.
//
//   make peers && mpirun -n RANKS ./peers_gpu
//
// Sums and copies of teams (kTeams) are made by loads and stores; with -DMULTIMEM ('make multimem') by the
// switch that joins a team: all ranks of a node, on one NVSwitch, sm_90 or later.
#include <algorithm>
#include <iterator>
#include <vector>

#include "algorithm.h"
#include "measure.h"
#include "options.h"
#include "ranks.h"
#include "runtime/device/gpu.h"
#include "runtime/device/nccl_memory.h"
#include "values.h"

namespace {

using T = ELEMENT;
#ifdef MULTIMEM
constexpr bool kBySwitch = true;
#else
constexpr bool kBySwitch = false;
#endif
using Memory = chorale::NcclMemory<T, algorithm::Function, kBySwitch, kBySwitch && algorithm::kSumsOfTeams>;
constexpr chorale::Combination kReduction = chorale::Combination::REDUCTION;
using Combine = chorale::Always<kReduction>;

std::size_t aligned(std::size_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

int blocks_of(int rank) {
  return static_cast<int>(
      std::count_if(std::begin(algorithm::kBlockRows), std::end(algorithm::kBlockRows),
                    [&](const chorale::PeerBlockRow& block) { return block.rank == rank; }));
}
int first_block_of(int rank) {
  int first = 0;
  while (algorithm::kBlockRows[first].rank != rank) ++first;
  return first;
}

// This rank's part of the algorithm.
class Machine {
 public:
  Machine(int rank, ncclComm_t comm, const Options& options, long most)
      : rank_(rank), comm_(comm), options_(options) {
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    launch_.tables = tables_by([]<typename Row>(const Row* rows, std::size_t count) {
      Row* const there = allocate<Row>(static_cast<long>(count));
      upload(there, rows, static_cast<long>(count));
      return there;
    });
    launch_.shape = shape_for<T, T>(options, most);
    launch_.first_rank = rank;
    launch_.first_block = first_block_of(rank);
    require_teams();
    make_window();
    Memory& memory = launch_.memory;
    memory.own_input = allocate<T>(begin(most, algorithm::kRankRows[rank].input_chunks));
    memory.own_output = allocate<T>(begin(most, algorithm::kRankRows[rank].output_chunks));
    memory.launches =
        allocate<std::uint64_t>(static_cast<long>(std::size(algorithm::kBlockRows)) * options.slices);
    // The kernel reads those of rank n from n * kOperands on; this one runs no other rank.
    std::vector<char*> tensors(static_cast<std::size_t>(algorithm::kRanks * algorithm::Function::kOperands));
    for (int k = 0; k < algorithm::Function::kOperands; ++k) {
      tensors_.push_back(allocate<char>(static_cast<long>(tensor(k, rank, most).size())));
      tensors[static_cast<std::size_t>(rank * algorithm::Function::kOperands + k)] = tensors_.back();
    }
    char** const addresses = allocate<char*>(static_cast<long>(tensors.size()));
    upload(addresses, tensors.data(), static_cast<long>(tensors.size()));
    memory.epilogue.tensors = reinterpret_cast<const void* const*>(addresses);
    memory.epilogue.operands = algorithm::Function::kOperands;
    trouble_ = allocate<chorale::Trouble>(1);
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

  void prepare(long elements, unsigned seed) {
    launch_.shape.elements = elements;
    for (int k = 0; k < algorithm::Function::kOperands; ++k) {
      const std::vector<char> bytes = tensor(k, rank_, elements);
      upload(tensors_[static_cast<std::size_t>(k)], bytes.data(), static_cast<long>(bytes.size()));
    }
    RankValues<T> values(rank_, elements);
    values.put_inputs(expected_, seed);
    upload(launch_.memory.own_input, values.input().data(), static_cast<long>(values.input().size()));
    upload(launch_.memory.own_output, values.output().data(), static_cast<long>(values.output().size()));
  }

  void run() {
    launch();
    finish();
  }

  // Of the slowest rank.
  double replay(int warm_up, int times) {
    const auto meet = [&] {
      finish();
      MPI_Barrier(MPI_COMM_WORLD);
    };
    const double us = timed_as_graph(
        stream_, warm_up, times, [&] { launch(); }, meet);
    finish();
    return slowest(us);
  }

  long wrong(unsigned seed) {
    RankValues<T> values(rank_, launch_.shape.elements);
    download(values.input().data(), launch_.memory.own_input, static_cast<long>(values.input().size()));
    download(values.output().data(), launch_.memory.own_output, static_cast<long>(values.output().size()));
    return wrong_of_all_ranks(values, expected_, seed);
  }

 private:
  // Ranks of a team reach each other's memory; a switch has one address, for all ranks that do.
  void require_teams() {
    const int near = ncclTeamLsa(comm_).nRanks;
    for (const chorale::PeerTeamRow& team : algorithm::kTeams) {
      if (team.count < 2) continue;  // the row of an empty table
      const int* const first = algorithm::kMembers + team.first;
      if (first[0] / near != first[team.count - 1] / near)
        fail("peers", "ranks whose sums a switch makes are on several nodes");
      if (kBySwitch && team.count != near)
        fail("multimem", "the switch joins other ranks than those whose sums it makes");
    }
  }

  // Scratch, counters and outboxes, at the same offsets in all ranks.
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
    if (far && algorithm::kLoadsFromPeers)
      fail("peers", "ranks load from others, which a network does not do: emit it with --peer-access stores");
    memory.scratch_at = 0;
    memory.counters_at = memory.scratch_size;
    memory.outboxes_at = memory.counters_at + counter_bytes;
    const std::size_t size = memory.outboxes_at + (far ? memory.scratch_size * algorithm::kRanks : 0);
    require(ncclMemAlloc(&window_memory_, size), "ncclMemAlloc");
    require(cudaMemset(window_memory_, 0, size), "cudaMemset");
    require(ncclCommWindowRegister(comm_, window_memory_, size, &memory.window, NCCL_WIN_COLL_SYMMETRIC),
            "ncclCommWindowRegister");
    ncclDevCommRequirements requirements = no_requirements();
    requirements.lsaMultimem = kBySwitch;
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
    // No rank stores into memory that its owner still clears.
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void launch() {
    void* arguments[] = {&launch_};
    require(cudaLaunchCooperativeKernel(chorale::peer_kernel<Memory, Combine>,
                                        dim3(static_cast<unsigned>(blocks_of(rank_) * options_.slices)),
                                        dim3(options_.threads), arguments, 0, stream_),
            "cudaLaunchCooperativeKernel");
  }

  void finish() {
    require(cudaStreamSynchronize(stream_), "the kernel");
    chorale::Trouble trouble;
    download(&trouble, trouble_, 1);
    if (complain(trouble, options_.patience)) MPI_Abort(MPI_COMM_WORLD, 3);
  }

  const int rank_;
  ncclComm_t comm_;
  const Options options_;
  const Expected<kReduction> expected_;
  chorale::PeerLaunch<Memory, Combine> launch_ = {};
  void* window_memory_ = nullptr;
  std::vector<char*> tensors_ = {};  // by operand
  chorale::Trouble* trouble_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Wrong elements of all ranks. All take as many slices, or the counters of one would not be those of another.
long measure(int rank, ncclComm_t comm, Options options) {
  int blocks = 0;
  for (int n = 0; n < algorithm::kRanks; ++n) blocks = std::max(blocks, blocks_of(n));
  fit(options, chorale::peer_kernel<Memory, Combine>, blocks, 16);
  MPI_Allreduce(MPI_IN_PLACE, &options.slices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  Machine machine(rank, comm, options, block_elements<T>(std::max(options.from, options.to)));
  if (rank == 0)
    std::printf("# %s\n# %d ranks, %d slice%s of %d threads\n", algorithm::kName, algorithm::kRanks,
                options.slices, options.slices == 1 ? "" : "s", options.threads);
  return measure_sizes<T>(machine, options, rank == 0);
}

}  // namespace

int main(int argc, char** argv) {
  return on_ranks(algorithm::kRanks, argc, argv, measure);
}
