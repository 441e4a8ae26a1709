// Parts of the runtime in libraries of their own, loaded when they are first called: what drives GPUs takes longer to
// build than all else, needs libraries that not every machine has, and few runs need it.
//
// The program has loaded.cpp, which finds a part and calls it; the library shows one table of functions. The tables have
// C++ types in them, so both sides state the headers that they were built from (CHORALE_HEADERS, a hash of those of ir
// and runtime), and a part of another build is refused.
#pragma once

#include <vector>

#include "runtime/gpu_run.h"
#include "runtime/nccl_run.h"

namespace chorale {

struct GpuPart {
  const char* headers = CHORALE_HEADERS;  // first in each table
  decltype(&run_peers_on_gpu) run_peers = nullptr;
};

struct NcclPart {
  const char* headers = CHORALE_HEADERS;
  std::vector<RunRow> (*run)(MpiSession&, const Program&, const Collective&, const RunOptions&,
                             bool) = nullptr;
  std::vector<RunRow> (*run_library)(MpiSession&, const Collective&, const RunOptions&, bool) = nullptr;
};

}  // namespace chorale

#define CHORALE_PART extern "C" __attribute__((visibility("default")))
