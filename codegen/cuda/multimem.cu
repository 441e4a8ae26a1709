// An AllReduce in which each owner gets its part of all vectors and gives the sum to all, as the algorithm in
// algorithm.h has it, where the switch does both (NVLS): one load that adds up, one store that reaches all
// ranks. A process a GPU under mpirun; sm_90, NCCL 2.28, all GPUs on one NVSwitch.
//
//   make multimem && mpirun -n RANKS ./multimem_gpu
//
// Element types: float, -DELEMENT=chorale::Float16, -DELEMENT=chorale::Bfloat16 (added up as float32).
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "algorithm.h"
#include "expected.h"
#include "options.h"
#include "ranks.h"
#include "runtime/device/elements.h"
#include "runtime/device/kernel.h"

#ifndef ELEMENT
#define ELEMENT float
#endif

namespace {

using T = ELEMENT;
constexpr long kUnit = 16 / sizeof(T);  // elements of one access

// The sum over all ranks of 16 bytes, and a store of them to all ranks, at an address that stands for all.
struct Words {
  unsigned word[4];
};
template <typename Element>
__device__ Words sum_of_all(const void* everywhere) {
  Words sum;
  if constexpr (std::is_same_v<Element, float>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  else if constexpr (std::is_same_v<Element, chorale::Float16>)
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  else
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.word[0]), "=r"(sum.word[1]), "=r"(sum.word[2]), "=r"(sum.word[3])
                 : "l"(everywhere)
                 : "memory");
  return sum;
}
__device__ void store_to_all(void* everywhere, const Words& value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(everywhere),
               "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

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
    const long end = chorale::piece_start(units, chunks, c + 1);
    for (long i = chorale::piece_start(units, chunks, c) + blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += static_cast<long>(gridDim.x) * blockDim.x)
      store_to_all(outputs + 16 * i, sum_of_all<T>(inputs + 16 * i));
  }
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

void measure(int rank, ncclComm_t comm, const Options& options) {
  const long most = std::max(options.from, options.to) / static_cast<long>(sizeof(T));
  const auto units = [](long elements) { return (elements + kUnit - 1) / kUnit; };
  const std::size_t room = (static_cast<std::size_t>(units(most)) * 16 + 4095) / 4096 * 4096 + 4096;
  char* memory = nullptr;
  ncclWindow_t window = nullptr;
  require(ncclMemAlloc(reinterpret_cast<void**>(&memory), 2 * room), "ncclMemAlloc");
  require(ncclCommWindowRegister(comm, memory, 2 * room, &window, NCCL_WIN_COLL_SYMMETRIC),
          "ncclCommWindowRegister");
  ncclDevCommRequirements requirements = no_requirements();
  requirements.lsaMultimem = true;
  requirements.lsaBarrierCount = options.slices;
  ncclDevComm device_comm;
  require(ncclDevCommCreate(comm, &requirements, &device_comm), "ncclDevCommCreate");
  if (ncclTeamLsa(comm).nRanks != algorithm::kRanks) fail("multimem", "not all GPUs are on one switch");
  cudaStream_t stream = nullptr;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  int* owners = nullptr;
  require(cudaMalloc(&owners, sizeof algorithm::kOwners), "cudaMalloc");
  require(cudaMemcpy(owners, algorithm::kOwners, sizeof algorithm::kOwners, cudaMemcpyHostToDevice),
          "cudaMemcpy");

  const Expected expected(chorale::Reduction::Sum);
  const auto slot_of = [](long elements, long e) {
    int slot = 0;
    while (chorale::piece_start(elements, algorithm::kPieces, slot + 1) <= e) ++slot;
    return slot;
  };
  if (rank == 0)
    std::printf("# %s by multimem\n#%12s %12s %12s %12s %12s %8s\n", algorithm::kName, "size (B)", "count",
                "time (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong");
  long all_wrong = 0;
  for (long size = std::max(options.from, 1l); size <= options.to; size *= options.factor) {
    const long count = size / static_cast<long>(sizeof(T));
    std::vector<T> values(units(count) * kUnit, T{});
    for (long e = 0; e < count; ++e) {
      const int slot = slot_of(count, e);
      values[e] = expected.input<T>(rank, slot, e - chorale::piece_start(count, algorithm::kPieces, slot), 1);
    }
    require(cudaMemcpy(memory, values.data(), sizeof(T) * values.size(), cudaMemcpyHostToDevice),
            "cudaMemcpy");
    require(cudaMemset(memory + room, 0x55, sizeof(T) * values.size()), "cudaMemset");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Barrier(MPI_COMM_WORLD);
    const auto launch = [&] {
      multimem_kernel<<<options.slices, options.threads, 0, stream>>>(
          device_comm, window, room, units(count), owners, static_cast<int>(std::size(algorithm::kOwners)),
          rank);
    };
    for (int i = 0; i < 3; ++i) launch();
    cudaEvent_t start, stop;
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    require(cudaEventRecord(start, stream), "cudaEventRecord");
    for (int i = 0; i < options.iterations; ++i) launch();
    require(cudaEventRecord(stop, stream), "cudaEventRecord");
    require(cudaStreamSynchronize(stream), "the kernel");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    require(cudaMemcpy(values.data(), memory + room, sizeof(T) * values.size(), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    long wrong = 0;
    expected.for_each_promise(rank, [&](int slot, const auto& value) {
      const long from = chorale::piece_start(count, algorithm::kPieces, slot);
      for (long e = from; e < chorale::piece_start(count, algorithm::kPieces, slot + 1); ++e)
        wrong += !(values[e] == value.template at<T>(e - from, 1));
    });
    double us = milliseconds * 1e3 / options.iterations;
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const double bytes = static_cast<double>(count) * sizeof(T);
    if (rank == 0)
      std::printf(" %12.0f %12ld %12.2f %12.3f %12.3f %8ld\n", bytes, count, us, bytes / us / 1e3,
                  bytes / us / 1e3 * algorithm::kBusFactor, wrong);
    all_wrong += wrong;
  }
  if (all_wrong > 0) fail("multimem", "wrong elements");
  ncclDevCommDestroy(comm, &device_comm);
  ncclCommWindowDeregister(comm, window);
  ncclMemFree(memory);
}

}  // namespace

int main(int argc, char** argv) {
  return on_ranks(algorithm::kRanks, argc, argv, measure);
}
