// An AllReduce in which each owner gets its part of all vectors and gives the sum to all, as the algorithm in
// algorithm.h has it, where the switch does both (NVLS): one load that adds up, one store that reaches all
// ranks. A process per GPU under mpirun; sm_90, NCCL 2.28, all GPUs on one NVSwitch.
//
//   make multimem && mpirun -n RANKS ./multimem_gpu
//
// Element types: float, -DELEMENT=chorale::Float16, -DELEMENT=chorale::Bfloat16 (added up as float32).
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <vector>

#include "algorithm.h"
#include "measure.h"
#include "options.h"
#include "ranks.h"
#include "runtime/device/elements.h"
#include "switch.h"
#include "values.h"

#ifdef IN_PLACE
#error "input and output are apart where the switch adds"
#endif

namespace {

using T = ELEMENT;
static_assert(std::is_same_v<T, float> || std::is_same_v<T, chorale::Float16> ||
                  std::is_same_v<T, chorale::Bfloat16>,
              "the switch adds float, Float16 and Bfloat16 here");
static_assert(chorale::Combination::REDUCTION == chorale::Combination::Sum, "the switch adds here");
constexpr long kUnit = 16 / sizeof(T);  // elements of one access

// Chunks are cut in units of 16 bytes; the window is padded to whole ones. Between two barriers of the ranks
// (all inputs are there; all outputs are) each owner does its chunks.
__global__ void __launch_bounds__(512, 1)
    multimem_kernel(const __grid_constant__ ncclDevComm comm, ncclWindow_t window, std::size_t output_at,
                    long units, const int* owner, int chunks, int rank) {
  ncclLsaBarrierSession<ncclCoopCta> barrier{ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x, true};
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  const char* const inputs = static_cast<const char*>(ncclGetLsaMultimemPointer(window, 0, comm));
  char* const outputs = static_cast<char*>(ncclGetLsaMultimemPointer(window, output_at, comm));
  for (int c = 0; c < chunks; ++c) {
    if (owner[c] != rank) continue;
    const long end = chorale::part_begin(units, chunks, c + 1);
    for (long i = chorale::part_begin(units, chunks, c) + blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += static_cast<long>(gridDim.x) * blockDim.x)
      store_to_all(outputs + 16 * i, sum_of_all<T>(inputs + 16 * i));
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

class Machine {
 public:
  Machine(int rank, ncclComm_t comm, const Options& options, long most)
      : rank_(rank), comm_(comm), options_(options) {
    if (ncclTeamLsa(comm).nRanks != algorithm::kRanks) fail("multimem", "not all GPUs are on one switch");
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    room_ = (static_cast<std::size_t>(units(most)) * 16 + 4095) / 4096 * 4096 + 4096;
    void* memory = nullptr;
    require(ncclMemAlloc(&memory, 2 * room_), "ncclMemAlloc");
    input_ = static_cast<T*>(memory);
    output_ = reinterpret_cast<T*>(static_cast<char*>(memory) + room_);
    require(ncclCommWindowRegister(comm, memory, 2 * room_, &window_, NCCL_WIN_COLL_SYMMETRIC),
            "ncclCommWindowRegister");
    ncclDevCommRequirements requirements = no_requirements();
    requirements.lsaMultimem = true;
    requirements.lsaBarrierCount = options.slices;
    require(ncclDevCommCreate(comm, &requirements, &device_comm_), "ncclDevCommCreate");
    owners_ = allocate<int>(std::size(algorithm::kOwners));
    upload(owners_, algorithm::kOwners, std::size(algorithm::kOwners));
  }

  ~Machine() {
    ncclDevCommDestroy(comm_, &device_comm_);
    ncclCommWindowDeregister(comm_, window_);
    ncclMemFree(input_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void prepare(long elements, unsigned seed) {
    elements_ = elements;
    RankValues<T> values(rank_, elements_);
    values.put_inputs(expected_, seed);
    require(cudaMemset(input_, 0, 2 * room_), "cudaMemset");
    upload(input_, values.input().data(), elements_);
    upload(output_, std::vector<T>(elements_, T(99)).data(), elements_);
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void run() {
    launch();
    require(cudaStreamSynchronize(stream_), "the kernel");
  }

  double replay(int warm_up, int times) {
    return slowest(timed(
        stream_, warm_up, times, [&] { launch(); }, [] {}));
  }

  long wrong(unsigned seed) {
    RankValues<T> values(rank_, elements_);
    download(values.output().data(), output_, elements_);
    return wrong_of_all_ranks(values, expected_, seed);
  }

 private:
  static long units(long elements) { return (elements + kUnit - 1) / kUnit; }

  void launch() {
    int rank = rank_, chunks = static_cast<int>(std::size(algorithm::kOwners));
    long all = units(elements_);
    void* arguments[] = {&device_comm_, &window_, &room_, &all, &owners_, &chunks, &rank};
    require(cudaLaunchCooperativeKernel(multimem_kernel, dim3(static_cast<unsigned>(options_.slices)),
                                        dim3(static_cast<unsigned>(options_.threads)), arguments, 0, stream_),
            "cudaLaunchCooperativeKernel");
  }

  const int rank_;
  ncclComm_t comm_;
  const Options options_;
  const Expected<chorale::Combination::Sum> expected_;
  long elements_ = 0;
  std::size_t room_ = 0;  // bytes of input and of output
  T* input_ = nullptr;
  T* output_ = nullptr;
  int* owners_ = nullptr;
  ncclWindow_t window_ = nullptr;
  ncclDevComm device_comm_;
  cudaStream_t stream_ = nullptr;
};

long measure(int rank, ncclComm_t comm, Options options) {
  fit(options, multimem_kernel, 1, 16);
  MPI_Allreduce(MPI_IN_PLACE, &options.slices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  Machine machine(rank, comm, options, block_elements<T>(std::max(options.from, options.to)));
  if (rank == 0) std::printf("# %s by multimem\n", algorithm::kName);
  return measure_sizes<T>(machine, options, rank == 0);
}

}  // namespace

int main(int argc, char** argv) {
  return on_ranks(algorithm::kRanks, argc, argv, measure);
}
