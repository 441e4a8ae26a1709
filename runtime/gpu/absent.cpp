// Stands for run.cpp where nvcc was not found.
#include "ir/error.h"
#include "runtime/gpu_run.h"

namespace chorale {

std::vector<RunRow> run_peers_on_gpu(const PeerProgram&, const Collective&, const RunOptions&) {
  throw InputError("gpu", "this chorale was built without nvcc",
                   "build it where nvcc is, or emit: chorale emit RESULT --target cuda");
}

}  // namespace chorale
