// What MPI_Init begins and MPI_Finalize ends; messages are those of runtime/exchange/mpi.h.
#include <cstdlib>

#include "runtime/exchange/mpi.h"
#include "runtime/mpi/own_algorithms.h"
#include "runtime/mpi_session.h"

namespace chorale {

// Only here is runtime/exchange/mpi.h compiled for the runtime: all other sources see a Transport.
std::unique_ptr<Transport> mpi_transport(MPI_Comm comm, std::chrono::milliseconds patience, bool* hung) {
  return std::make_unique<MpiTransport>(comm, patience, hung);
}

namespace {

// A session is a communicator: all processes, a part of them, or a copy that was made while an algorithm was
// forced. They share the flag by which a hang is known.
class Session final : public MpiSession {
 public:
  Session() { MPI_Init(nullptr, nullptr); }
  Session(MPI_Comm comm, bool* hung) : comm_(comm), hung_(hung) {}
  Session(MPI_Comm comm, bool* hung, std::unique_ptr<ForcedAlgorithm> forced)
      : forced_(std::move(forced)), comm_(comm), hung_(hung) {}
  // After a hang nothing is ended: both calls are collective, and other ranks may never come to them.
  ~Session() override {
    if (*hung_) return;
    if (comm_ == MPI_COMM_WORLD)
      MPI_Finalize();
    else
      MPI_Comm_free(&comm_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Rank rank() const override {
    Rank rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }

  int ranks() const override {
    int ranks = 0;
    MPI_Comm_size(comm_, &ranks);
    return ranks;
  }

  std::unique_ptr<Transport> transport(std::chrono::milliseconds timeout) override {
    return mpi_transport(comm_, timeout, hung_);
  }

  // Collective over this session; ranks of the part are in the order of the ranks here.
  std::unique_ptr<MpiSession> part(int number) override {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, number, rank(), &comm);
    return std::make_unique<Session>(comm, hung_);
  }

  int communicator() const override { return MPI_Comm_c2f(comm_); }

  OwnAlgorithms own_algorithms(CollectiveKind kind) override { return listed_algorithms(kind); }

  // Open MPI reads the setting as a communicator is made, MPICH at each call: it holds as long as the
  // session.
  std::unique_ptr<MpiSession> forced(CollectiveKind kind, int number) override {
    auto forced = std::make_unique<ForcedAlgorithm>(kind, number);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, 0, rank(), &comm);
    // An algorithm may refuse a call, which need not end the program.
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return std::make_unique<Session>(comm, hung_, std::move(forced));
  }

 private:
  std::unique_ptr<ForcedAlgorithm> forced_ = {};
  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool is_hung_ = false;
  bool* hung_ = &is_hung_;  // of the whole session
};

}  // namespace

// Without dynamic rules Open MPI ignores its settings of algorithms. What a user has set stays.
std::unique_ptr<MpiSession> start_mpi(bool can_force) {
  if (can_force) setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  return std::make_unique<Session>();
}

}  // namespace chorale
