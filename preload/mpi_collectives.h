// MPI's collectives by Chorale's algorithms, where there is one for the communicator's size; else MPI's own,
// by its profiling interface. What libchorale-mpi and the preload library share.
//
// All ranks decide alike: by the communicator's size, the bytes, the type and the operation, which MPI
// requires to be the same everywhere, and by data that the ranks of the communicator have exchanged: at its
// first use, that they loaded the same algorithms, and the host and core of each; at the first call of a
// kind, that each has the memory for it. If one lacks it, MPI does the call in all of them. Data that lie
// scattered are packed first.
//
// Several threads may call, each on a communicator of its own, as MPI requires of collectives. What belongs
// to a communicator is used by one thread at a time, then; the mutex guards what all of them share, and is
// never held in a call that waits for another rank, where two threads of two ranks could wait for each other.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/elements.h"
#include "library/algorithms.h"
#include "preload/mpi_alltoallv.h"
#include "runtime/device/failure_file.h"
#include "runtime/elements.h"
#include "runtime/rank_plan.h"

namespace chorale {

// One call of the program, in our terms.
struct MpiCall {
  const char* function = "";
  CollectiveKind collective = CollectiveKind::Custom;
  ElementType type = ElementType::Uint8;
  ReduceOp op = ReduceOp::Sum;
  std::int64_t elements = 0;  // of a block
  int root = 0;
  std::vector<int> counts = {};  // blocks of each rank, where these differ: of a custom one called so
  std::string counted = {};      // "allgatherv"
};

class MpiCollectives {
 public:
  struct Observer {
    // Each call: the algorithm that is used, or "" and why it is passed on to MPI.
    std::function<void(MPI_Comm, const MpiCall&, const std::string& algorithm, const std::string& why_not)>
        call = {};
    // An error that the user has to fix; called in one rank of the communicator.
    std::function<void(const std::string&)> complaint = {};
  };

  // `host`: the host of this rank; ranks of one host pass the same. Empty: the result of
  // MPI_Get_processor_name. `rates`: of nodes, by which Alltoallv is planned; none: MPI does it.
  // `failure_file`: the first rank of the communicator reads it at each call, or, if `failure_signal` is not
  // "", after that signal (runtime/device/failure_file.h), and all follow in this call; "": there is none.
  MpiCollectives(Algorithms, Observer, std::string host = "", NodeRates rates = {},
                 const std::string& failure_file = "", const std::string& failure_signal = "");

  // Until threads of the program call.
  const Algorithms& algorithms() const { return algorithms_; }
  // More of them, the same in all ranks.
  void add(Algorithms);
  // What has failed of the machine from the next call on, the same in all ranks; "": nothing.
  void set_failure(const std::string&);

  // MPI's own signatures and results. Throw for errors that are not the call's (a rank that never arrives);
  // other ranks may then be waiting.
  int allreduce(const void* send, void* recv, int count, MPI_Datatype, MPI_Op, MPI_Comm);
  int reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype, MPI_Op, MPI_Comm);
  int allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                MPI_Datatype recv_type, MPI_Comm);
  // With counts, which all ranks have alike: where they differ by little, by the algorithm for equal blocks,
  // filled up to the largest; else by one for these counts.
  int allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                 const int recv_counts[], const int places[], MPI_Datatype recv_type, MPI_Comm);
  int reduce_scatter(const void* send, void* recv, const int recv_counts[], MPI_Datatype, MPI_Op, MPI_Comm);
  int alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
               MPI_Datatype recv_type, MPI_Comm);
  int bcast(void* data, int count, MPI_Datatype, int root, MPI_Comm);
  int reduce(const void* send, void* recv, int count, MPI_Datatype, MPI_Op, int root, MPI_Comm);

  // With counts of which a rank has only its own: planned when it is called (preload/mpi_alltoallv.h).
  int alltoallv(const void* send, const int send_counts[], const int send_places[], MPI_Datatype send_type,
                void* recv, const int recv_counts[], const int recv_places[], MPI_Datatype recv_type,
                MPI_Comm);

  // A call of which a rank has only its own counts, such as MPI_Gatherv: to exchange them would cost as much
  // as it gains. MPI does the call, and the observer is notified.
  void pass_own_counts(MPI_Comm, const char* function, CollectiveKind) const;

 private:
  struct Companion;
  // A plan and what carries its messages; without one MPI is to do the call.
  struct Ready {
    RankPlan* plan = nullptr;
    Transport* transport = nullptr;
    ReduceOp op = ReduceOp::Sum;

    explicit operator bool() const { return plan != nullptr; }
    int rank() const { return transport->rank(); }
    std::byte* input() const { return plan->input().data(); }
    // Runs it; the output.
    const std::byte* output() const {
      plan->execute(op, *transport);
      return plan->output().data();
    }
  };

  Companion* companion_of(MPI_Comm);
  void complain_of_difference(MPI_Comm, std::uint64_t fingerprint) const;
  void complain_of_memory(MPI_Comm) const;
  void report(MPI_Comm, const MpiCall&, const std::string& algorithm, const std::string& why_not) const;
  bool make_plan(MPI_Comm, const MpiCall&, Companion&);
  Ready plan(MPI_Comm, const MpiCall&);
  Ready reduction(MPI_Comm, MpiCall, MPI_Datatype, MPI_Op);
  Ready copying(MPI_Comm, const MpiCall&, std::int64_t most_bytes);
  static int reduced(const Ready&, const void* send, void* recv, bool receives);
  Ready pass(MPI_Comm, const MpiCall&, const std::string& why) const;

  void learn_failure(MPI_Comm, Companion&);

  const Observer observer_;
  const std::string host_;
  FailureFile failure_file_;
  MpiAlltoallv alltoallv_;
  MpiCompanions<Companion> companions_ = {};
  std::mutex mutex_ = {};  // of all that follows
  Algorithms algorithms_;
  int additions_ = 0;
  FailureName failure_ = {};
};

}  // namespace chorale
