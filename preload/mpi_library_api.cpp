// libchorale-mpi: preload/include/chorale/mpi.h. preload/mpi_collectives.h in C: what goes wrong is a value,
// and kept by thread, as errno is, so that threads with communicators of their own do not overwrite each
// other's reasons.
//
// Ranks that differ are found when algorithms are loaded, before any collective could hang: chorale_mpi_load
// and chorale_mpi_failed are collective over MPI_COMM_WORLD. MpiCollectives compares again for each
// communicator, which is for the preload library, where nothing is loaded by a call.
#define OMPI_SKIP_MPICXX 1
#include <chorale/mpi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <new>
#include <string>

#include "preload/mpi_collectives.h"
#include "preload/mpi_entries.h"

namespace chorale {
namespace {

// Of the last call of this thread.
struct Last {
  static Last& here() {
    thread_local Last last;
    return last;
  }

  std::string error = {}, algorithm = {}, why_not = {};
};

// Made in the first call, when the environment is read.
struct Library {
  static Library& here() {
    static Library library;
    return library;
  }

  MpiCollectives collectives{
      Algorithms(""),
      {.call =
           [](MPI_Comm, const MpiCall&, const std::string& used, const std::string& why) {
             Last::here().algorithm = used;
             Last::here().why_not = why;
           },
       .complaint = [](const std::string&) {}},  // why_not has the same message
      variable("CHORALE_HOST"),
      rates_of_nodes(),
      variable("CHORALE_FAILED"),
      variable("CHORALE_FAILED_SIGNAL")};
};

int failed(int code, const std::string& why) {
  Last::here().error = why;
  return code;
}

// Nothing may be thrown into C.
template <typename Work>
int guarded(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(MPI_ERR_NO_MEM, "there is not enough memory");
  } catch (const std::exception& error) {
    return failed(MPI_ERR_OTHER, error.what());
  }
}

bool within_mpi() {
  int begun = 0, ended = 0;
  PMPI_Initialized(&begun);
  PMPI_Finalized(&ended);
  return begun && !ended;
}

int load(const std::string& path) {
  Algorithms found(path);
  const bool good = found.complaints().empty() && found.size() > 0;
  // Ranks that differed would wait for each other in different collectives. Both reductions are done before
  // any result is used: a rank that returned early would leave the others waiting.
  const bool good_everywhere = all_agree(MPI_COMM_WORLD, good, 0);
  const bool same = all_agree(MPI_COMM_WORLD, true, found.fingerprint());
  if (!found.complaints().empty())
    return failed(MPI_ERR_FILE, fmt::format("{}", fmt::join(found.complaints(), "; ")));
  if (!good)
    return failed(MPI_ERR_FILE, path + ": has no algorithms; give it a result file, or a directory of them");
  if (!good_everywhere) return failed(MPI_ERR_FILE, path + ": another rank cannot read it");
  if (!same) return failed(MPI_ERR_FILE, path + ": is not the same in all ranks");
  Library::here().collectives.add(std::move(found));
  return MPI_SUCCESS;
}

// For collectives: outside of MPI their own would stop the program.
template <typename Work>
int collective(Work work) {
  if (!within_mpi()) return failed(MPI_ERR_OTHER, "MPI is not up: call it between MPI_Init and MPI_Finalize");
  return guarded([&] { return work(Library::here().collectives); });
}

}  // namespace
}  // namespace chorale

using namespace chorale;

CHORALE_EXPORT int chorale_mpi_load(const char* path) {
  if (path == nullptr) return failed(MPI_ERR_ARG, "no path is given");
  if (!within_mpi()) return failed(MPI_ERR_OTHER, "MPI is not up: call it between MPI_Init and MPI_Finalize");
  return guarded([&] { return load(path); });
}

CHORALE_EXPORT int chorale_mpi_failed(const char* what) {
  if (!within_mpi()) return failed(MPI_ERR_OTHER, "MPI is not up: call it between MPI_Init and MPI_Finalize");
  return guarded([&] {
    const std::string name = what != nullptr ? what : "";
    if (!all_agree(MPI_COMM_WORLD, true, std::hash<std::string>{}(name)))
      return failed(MPI_ERR_ARG, "ranks name different failures");
    Library::here().collectives.set_failure(name);
    return MPI_SUCCESS;
  });
}

#define CHORALE_CALLED(mpi, c, name, parameters, arguments)                       \
  CHORALE_EXPORT int c parameters {                                               \
    return collective([&](MpiCollectives& ours) { return ours.name arguments; }); \
  }
CHORALE_MPI_COLLECTIVES(CHORALE_CALLED)

CHORALE_EXPORT const char* chorale_mpi_last_error(void) {
  return Last::here().error.c_str();
}

CHORALE_EXPORT const char* chorale_mpi_last_algorithm(void) {
  return Last::here().algorithm.c_str();
}

CHORALE_EXPORT const char* chorale_mpi_why_not(void) {
  return Last::here().why_not.c_str();
}
