// Declares what the runtime's plugins do (ir/plugin.h): MPI, NCCL, a GPU.
#pragma once

#include <vector>

#include "runtime/gpu_run.h"
#include "runtime/mpi_session.h"
#include "runtime/nccl_run.h"
#include "runtime/run.h"

namespace chorale {

struct MpiPlugin {
  decltype(&start_mpi) start = nullptr;
  decltype(&run_mpi_library) run_library = nullptr;
};

struct GpuPlugin {
  decltype(&run_peers_on_gpu) run_peers = nullptr;
};

struct NcclPlugin {
  std::vector<RunRow> (*run)(MpiSession&, const Verified<Program>&, const RunOptions&, bool) = nullptr;
  std::vector<RunRow> (*run_library)(MpiSession&, const Collective&, const RunOptions&, bool) = nullptr;
  decltype(&nccl_library_has) library_has = nullptr;
};

}  // namespace chorale
