// What MPI_Init begins and MPI_Finalize ends; messages are those of runtime/exchange/mpi.h.
#include "runtime/mpi/transport.h"
#include "runtime/mpi_session.h"

namespace chorale {
namespace {

class Session final : public MpiSession {
 public:
  Session() { MPI_Init(nullptr, nullptr); }
  Session(MPI_Comm comm, bool* hung) : comm_(comm), hung_(hung) {}
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

  std::unique_ptr<MpiSession> part(int number) override {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, number, rank(), &comm);
    return std::make_unique<Session>(comm, hung_);
  }

  int communicator() const override { return MPI_Comm_c2f(comm_); }

 private:
  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool is_hung_ = false;
  bool* hung_ = &is_hung_;  // of the whole session
};

}  // namespace

std::unique_ptr<MpiSession> start_mpi() {
  return std::make_unique<Session>();
}

}  // namespace chorale
