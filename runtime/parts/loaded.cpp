#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "ir/error.h"
#include "runtime/parts/part.h"

namespace chorale {
namespace {

struct PartFile {
  const char* library;
  const char* function;
  const char* transport;
  const char* needs;
  const char* target;  // what can be emitted instead
};
constexpr PartFile kGpu = {"libchorale-gpu-run.so", "chorale_gpu_part", "gpu", "nvcc", "cuda"};
constexpr PartFile kNccl = {"libchorale-nccl-run.so", "chorale_nccl_part", "nccl", "nvcc and NCCL", "nccl"};

[[noreturn]] void refuse(const PartFile& file, const std::string& what) {
  throw InputError(
      file.transport, what,
      fmt::format("build all of chorale where {} is: cmake --build --preset release; or emit: chorale emit "
                  "RESULT --target {}",
                  file.needs, file.target));
}

// Looked for in ../lib of the program, and where the loader looks; stays loaded.
template <typename Part>
const Part& loaded(const PartFile& file) {
  void* library = dlopen(file.library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(file, fmt::format("this chorale runs without that part ({})", dlerror()));
  const auto part = reinterpret_cast<const Part* (*)()>(dlsym(library, file.function));
  if (part == nullptr || std::string_view(part()->headers) != CHORALE_HEADERS)
    refuse(file, fmt::format("{} is of another build than this chorale", file.library));
  return *part();
}

}  // namespace

std::vector<RunRow> run_peers_on_gpu(const PeerProgram& program, const Collective& collective,
                                     const RunOptions& options) {
  return loaded<GpuPart>(kGpu).run_peers(program, collective, options);
}

std::vector<RunRow> run_on_nccl(MpiSession& session, const Program& program, const Collective& collective,
                                const RunOptions& options, bool in_place) {
  return loaded<NcclPart>(kNccl).run(session, program, collective, options, in_place);
}

std::vector<RunRow> run_nccl_library(MpiSession& session, const Collective& collective,
                                     const RunOptions& options, bool in_place) {
  return loaded<NcclPart>(kNccl).run_library(session, collective, options, in_place);
}

}  // namespace chorale
