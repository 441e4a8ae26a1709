// Stands for run.cpp where nvcc or NCCL was not found.
#include "ir/error.h"
#include "runtime/nccl_run.h"

namespace chorale {
namespace {

[[noreturn]] void say_so() {
  throw InputError("nccl", "this chorale was built without nvcc or NCCL",
                   "build it where both are, or emit: chorale emit RESULT --target nccl");
}

}  // namespace

std::vector<RunRow> run_on_nccl(MpiSession&, const Program&, const Collective&, const RunOptions&, bool) {
  say_so();
}
std::vector<RunRow> run_nccl_library(MpiSession&, const Collective&, const RunOptions&, bool) {
  say_so();
}
std::vector<RunRow> run_on_nccl(Transport&, int, const Program&, const Collective&, const RunOptions&, bool) {
  say_so();
}
std::vector<RunRow> run_nccl_library(Transport&, int, const Collective&, const RunOptions&, bool) {
  say_so();
}

}  // namespace chorale
