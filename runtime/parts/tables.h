// What the runtime's parts do (parts/part.h): MPI, NCCL, a GPU.
#pragma once

#include <memory>
#include <vector>

#include "runtime/gpu_run.h"
#include "runtime/mpi_session.h"
#include "runtime/nccl_run.h"
#include "runtime/run.h"

namespace chorale {

struct MpiPart {
  decltype(&start_mpi) start = nullptr;
  decltype(&run_mpi_library) run_library = nullptr;
};

struct GpuPart {
  decltype(&run_peers_on_gpu) run_peers = nullptr;
};

struct NcclPart {
  std::vector<RunRow> (*run)(MpiSession&, const Verified<Program>&, const RunOptions&, bool) = nullptr;
  std::vector<RunRow> (*run_library)(MpiSession&, const Collective&, const RunOptions&, bool) = nullptr;
  decltype(&nccl_library_has) library_has = nullptr;
};

}  // namespace chorale
