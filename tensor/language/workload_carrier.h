// What runs the ranks of a compiled workload.
#pragma once

#include "ir/named.h"

namespace chorale {

// Threads of one process; processes of MPI; all on one GPU; a GPU each, over NCCL; or any of these, as is
// chosen when it is built.
enum class WorkloadCarrier { Any, Threads, Mpi, Cuda, Nccl };

inline constexpr Named<WorkloadCarrier> kWorkloadCarriers[] = {{WorkloadCarrier::Threads, "threads"},
                                                               {WorkloadCarrier::Mpi, "mpi"},
                                                               {WorkloadCarrier::Cuda, "cuda"},
                                                               {WorkloadCarrier::Nccl, "nccl"}};

}  // namespace chorale
