// LD_PRELOAD=libchorale-mpi-preload.so: MPI_Allreduce, MPI_Allgather, MPI_Reduce_scatter_block, MPI_Alltoall,
// MPI_Bcast and MPI_Reduce of an unmodified program by algorithms of ours, where there is one for the
// communicator's size and hosts; MPI_Allgatherv and MPI_Reduce_scatter by those for equal blocks where the
// counts differ by little, or by those for these counts; else MPI's own. MPI_Alltoallv is planned when it is
// called, where CHORALE_NODES is set. MPI_Gatherv and MPI_Scatterv are MPI's, and counted among the calls
// passed on.
//
//   CHORALE_ALGORITHMS   libraries, result files, or directories of these, separated by colons
//   CHORALE_HOST         the host of this rank, if MPI_Get_processor_name does not identify it: the same for
//                        ranks of one host, in containers or in tests
//   CHORALE_NODES        rates of nodes for MPI_Alltoallv: nics=8,nic=50,node=450,latency=5 (NICs of a node,
//                        none stated: one per rank; GB/s of a NIC and of a rank within its node;
//                        microseconds)
//   CHORALE_FAILED       a file whose first line names what has failed of the machine ("link 0-1"), read at
//                        each call: from the next one on, algorithms of a library for the machine after that
//                        failure are used ('chorale library build --failures 1')
//   CHORALE_FAILED_SIGNAL=USR1  that file is read after this signal alone (or USR2)
//   CHORALE_ORDER=fixed  sums by algorithms of one fixed order alone (frontier --order): the same bits for
//                        each size and run
//   CHORALE_LOG=1        prints on standard error, once for each kind of call, the algorithm that was used,
//                        or the reason for none
#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "ir/words.h"
#include "preload/mpi_collectives.h"
#include "preload/mpi_entries.h"

namespace chorale {
namespace {

// From the start, since the signal may come before the first call.
[[maybe_unused]] const bool listens = FailureSignal::listen(variable("CHORALE_FAILED_SIGNAL"));

class Preload {
 public:
  // Made in the first call of ours, when MPI is up: only then are there ranks, one of which prints.
  static Preload& here() {
    static Preload preload;
    return preload;
  }

  MpiCollectives& collectives() { return collectives_; }

  void summary() {
    const std::lock_guard lock(mutex_);
    if (log_ && comm_rank(MPI_COMM_WORLD) == 0)
      std::fprintf(stderr, "chorale: %ld collectives by Chorale's algorithms, %ld passed on to MPI\n", used_,
                   passed_);
  }

 private:
  Preload()
      : log_(!variable("CHORALE_LOG").empty() && variable("CHORALE_LOG") != "0"),
        collectives_(Algorithms(variable("CHORALE_ALGORITHMS"), "mpi", variable("CHORALE_ORDER")),
                     {.call =
                          [this](MPI_Comm comm, const MpiCall& call, const std::string& algorithm,
                                 const std::string& why_not) {
                            const std::lock_guard lock(mutex_);
                            ++(algorithm.empty() ? passed_ : used_);
                            log(comm, call, algorithm.empty() ? "passed on to MPI: " + why_not : algorithm);
                          },
                      .complaint =
                          [this](const std::string& complaint) {
                            const std::lock_guard lock(mutex_);
                            log_once("chorale: " + complaint + "\n");
                          }},
                     variable("CHORALE_HOST"), rates_of_nodes(), variable("CHORALE_FAILED"),
                     variable("CHORALE_FAILED_SIGNAL")) {
    if (comm_rank(MPI_COMM_WORLD) != 0) return;
    if (const std::string fault = rates_of_nodes().fault; !fault.empty())
      std::fprintf(stderr, "chorale: %s: MPI does MPI_Alltoallv\n", fault.c_str());
    for (const std::string& complaint : collectives_.algorithms().complaints())
      std::fprintf(stderr, "chorale: %s\n", complaint.c_str());
    if (const int size = collectives_.algorithms().size(); log_)
      std::fprintf(stderr, "chorale: %s at hand\n", counted(size, "algorithm is", "algorithms are").c_str());
  }

  // Once for each kind of call.
  void log(MPI_Comm comm, const MpiCall& call, const std::string& what) {
    if (!log_ || comm == MPI_COMM_NULL || comm_rank(comm) != 0) return;
    log_once(fmt::format("chorale: {}, {} ranks, blocks of {} {}{}: {}\n", call.function, comm_size(comm),
                         call.elements, to_string(call.type),
                         is_rooted(call.collective) ? fmt::format(", root {}", call.root) : "", what));
  }

  void log_once(const std::string& line) {
    if (logged_.insert(line).second) std::fputs(line.c_str(), stderr);
  }

  const bool log_;
  std::mutex mutex_ = {};  // guards counts and messages: several threads may call
  long used_ = 0, passed_ = 0;
  std::set<std::string> logged_ = {};
  MpiCollectives collectives_;
};

// Runs `work` where nothing may be thrown through; what is thrown ends the program, since other ranks may be
// waiting.
template <typename Work>
int guarded(Work work) {
  try {
    return work(Preload::here().collectives());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chorale: %s\n", error.what());
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return MPI_ERR_INTERN;
  }
}

}  // namespace
}  // namespace chorale

using namespace chorale;

#define CHORALE_PRELOADED(mpi, c, name, parameters, arguments)                 \
  CHORALE_EXPORT int mpi parameters {                                          \
    return guarded([&](MpiCollectives& ours) { return ours.name arguments; }); \
  }
CHORALE_MPI_COLLECTIVES(CHORALE_PRELOADED)

CHORALE_EXPORT int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                               const int recv_counts[], const int places[], MPI_Datatype recv_type, int root,
                               MPI_Comm comm) {
  return guarded([&](MpiCollectives& ours) {
    ours.pass_own_counts(comm, "MPI_Gatherv", CollectiveKind::Gather);
    return PMPI_Gatherv(send, send_count, send_type, recv, recv_counts, places, recv_type, root, comm);
  });
}

CHORALE_EXPORT int MPI_Scatterv(const void* send, const int send_counts[], const int places[],
                                MPI_Datatype send_type, void* recv, int recv_count, MPI_Datatype recv_type,
                                int root, MPI_Comm comm) {
  return guarded([&](MpiCollectives& ours) {
    ours.pass_own_counts(comm, "MPI_Scatterv", CollectiveKind::Scatter);
    return PMPI_Scatterv(send, send_counts, places, send_type, recv, recv_count, recv_type, root, comm);
  });
}

CHORALE_EXPORT int MPI_Finalize() {
  Preload::here().summary();
  return PMPI_Finalize();
}
