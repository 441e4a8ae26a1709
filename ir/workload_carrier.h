// What runs the ranks of a compiled workload.
#pragma once

namespace chorale {

// Threads of one process; processes of MPI; all on one GPU; a GPU each, over NCCL; or any of these, as is
// chosen when it is built.
enum class WorkloadCarrier { Any, Threads, Mpi, Cuda, Nccl };

}  // namespace chorale
