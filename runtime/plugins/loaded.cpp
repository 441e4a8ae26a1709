// The functions of the runtime that plugins implement. A plugin defines functions of the same names, which
// its table points to; these here are for all that links without it.
#include "ir/plugin.h"
#include "runtime/plugins/tables.h"

namespace chorale {
namespace {

// Each is loaded at its first call: chorale itself starts where neither MPI nor CUDA is.
const MpiPlugin& mpi() {
  static const auto& plugin = loaded<MpiPlugin>({.name = "mpi",
                                                 .library = "libchorale-mpi-run.so",
                                                 .function = "chorale_mpi_plugin",
                                                 .remedy = kBuildAll});
  return plugin;
}

// Built only where nvcc is; an emitted program needs no plugin.
const GpuPlugin& gpu() {
  static const auto& plugin =
      loaded<GpuPlugin>({.name = "gpu",
                         .library = "libchorale-gpu-run.so",
                         .function = "chorale_gpu_plugin",
                         .remedy = "build all of chorale where nvcc is: cmake --build --preset "
                                   "release; or emit: chorale emit RESULT --target cuda"});
  return plugin;
}

// As above, and only where NCCL is.
const NcclPlugin& nccl() {
  static const auto& plugin =
      loaded<NcclPlugin>({.name = "nccl",
                          .library = "libchorale-nccl-run.so",
                          .function = "chorale_nccl_plugin",
                          .remedy = "build all of chorale where nvcc and NCCL are: cmake --build "
                                    "--preset release; or emit: chorale emit RESULT --target nccl"});
  return plugin;
}

}  // namespace

std::unique_ptr<MpiSession> start_mpi(bool can_force) {
  return mpi().start(can_force);
}

std::vector<RunRow> run_mpi_library(MpiSession& session, const Collective& collective,
                                    const RunOptions& options, bool in_place) {
  return mpi().run_library(session, collective, options, in_place);
}

std::vector<RunRow> run_peers_on_gpu(const Verified<PeerProgram>& program, const RunOptions& options) {
  return gpu().run_peers(program, options);
}

std::vector<RunRow> run_on_nccl(MpiSession& session, const Verified<Program>& program,
                                const RunOptions& options, bool in_place) {
  return nccl().run(session, program, options, in_place);
}

std::vector<RunRow> run_nccl_library(MpiSession& session, const Collective& collective,
                                     const RunOptions& options, bool in_place) {
  return nccl().run_library(session, collective, options, in_place);
}

bool nccl_library_has(CollectiveKind kind) {
  return nccl().library_has(kind);
}

}  // namespace chorale
