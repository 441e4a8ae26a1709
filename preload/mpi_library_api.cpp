// libchorale-mpi: include/chorale/mpi.h. preload/mpi_collectives.h in C: what goes wrong is a value, and kept
// by thread.
#define OMPI_SKIP_MPICXX 1
#include <chorale/mpi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>

#include "preload/mpi_collectives.h"
#include "preload/mpi_settings.h"

#define CHORALE_EXPORT extern "C" __attribute__((visibility("default")))

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

// Is the number the same in all ranks?
bool same_everywhere(std::uint64_t mine) {
  std::uint64_t ends[2] = {mine, ~mine}, most[2] = {};
  PMPI_Allreduce(ends, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most[0] == ~most[1];
}

int load(const std::string& path) {
  Algorithms found(path);
  const bool good = found.complaints().empty() && found.size() > 0;
  // Ranks that differed would wait for each other in different collectives. Both reductions are done before
  // any result is used: a rank that returned early would leave the others waiting.
  const bool good_everywhere = same_everywhere(good ? 1 : 0);
  const bool same = same_everywhere(found.fingerprint());
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
    if (!same_everywhere(std::hash<std::string>{}(name)))
      return failed(MPI_ERR_ARG, "ranks name different failures");
    Library::here().collectives.set_failure(name);
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int chorale_mpi_allreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) { return ours.allreduce(send, recv, count, type, op, comm); });
}

CHORALE_EXPORT int chorale_mpi_reduce_scatter_block(const void* send, void* recv, int count,
                                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return collective(
      [&](MpiCollectives& ours) { return ours.reduce_scatter_block(send, recv, count, type, op, comm); });
}

CHORALE_EXPORT int chorale_mpi_allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                                         int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) {
    return ours.allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  });
}

CHORALE_EXPORT int chorale_mpi_allgatherv(const void* send, int send_count, MPI_Datatype send_type,
                                          void* recv, const int recv_counts[], const int places[],
                                          MPI_Datatype recv_type, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) {
    return ours.allgatherv(send, send_count, send_type, recv, recv_counts, places, recv_type, comm);
  });
}

CHORALE_EXPORT int chorale_mpi_reduce_scatter(const void* send, void* recv, const int recv_counts[],
                                              MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return collective(
      [&](MpiCollectives& ours) { return ours.reduce_scatter(send, recv, recv_counts, type, op, comm); });
}

CHORALE_EXPORT int chorale_mpi_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                                        int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) {
    return ours.alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  });
}

CHORALE_EXPORT int chorale_mpi_alltoallv(const void* send, const int send_counts[], const int send_places[],
                                         MPI_Datatype send_type, void* recv, const int recv_counts[],
                                         const int recv_places[], MPI_Datatype recv_type, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) {
    return ours.alltoallv(send, send_counts, send_places, send_type, recv, recv_counts, recv_places,
                          recv_type, comm);
  });
}

CHORALE_EXPORT int chorale_mpi_bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return collective([&](MpiCollectives& ours) { return ours.bcast(data, count, type, root, comm); });
}

CHORALE_EXPORT int chorale_mpi_reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                                      int root, MPI_Comm comm) {
  return collective(
      [&](MpiCollectives& ours) { return ours.reduce(send, recv, count, type, op, root, comm); });
}

CHORALE_EXPORT const char* chorale_mpi_last_error(void) {
  return Last::here().error.c_str();
}

CHORALE_EXPORT const char* chorale_mpi_last_algorithm(void) {
  return Last::here().algorithm.c_str();
}

CHORALE_EXPORT const char* chorale_mpi_why_not(void) {
  return Last::here().why_not.c_str();
}
