// MPI's messages as a Transport: all receives and sends of an epoch are posted at once, receives first, and
// tested until they are complete. MPI has no waits with a limit, so every wait here is a loop of tests with a
// clock; the peer that it waits for, which MPI does not report, follows from the request that is not done.
//
// Messages and meetings share a communicator, meetings with tag 0, as a message may have. They do not mix up:
// every rank has the same exchanges and meetings in the same order, and MPI keeps the order of a pair.
#include <fmt/format.h>

#include "runtime/mpi_session.h"
#define OMPI_SKIP_MPICXX 1  // the C++ interface that MPI 3 removed, and its warnings
#include <mpi.h>

#include <algorithm>
#include <bit>

#include "runtime/exchange/arrival.h"
#include "runtime/mpi_transport.h"

namespace chorale {
namespace {

// MPI counts in int; what is longer goes in parts. MPI keeps their order.
constexpr std::int64_t kLongestPart = std::int64_t{1} << 30;

class MpiTransport : public Transport {
 public:
  MpiTransport(MPI_Comm comm, bool* hung, std::chrono::milliseconds timeout)
      : comm_(comm), hung_(hung), timeout_(timeout) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    void* bound = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found) largest_tag_ = *static_cast<int*>(bound);
  }

  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  // Where message numbers exceed the tags, two messages of a pair may share one; both ends post them in the
  // order of their numbers, and MPI does not let them overtake each other.
  void exchange(int step, std::span<const MessageTransfer> sends,
                std::span<const MessageTransfer> recvs) override {
    requests_.clear();
    of_request_.clear();
    for (const MessageTransfer& recv : recvs)
      for_parts(recv, [&](std::byte* data, int bytes, MPI_Request* request) {
        MPI_Irecv(data, bytes, MPI_BYTE, recv.peer, tag(recv), comm_, request);
      });
    const std::size_t receives = requests_.size();
    for (const MessageTransfer& send : sends)
      for_parts(send, [&](std::byte* data, int bytes, MPI_Request* request) {
        const bool arrives = waits_for_arrival(!recvs.empty(), bytes);
        (arrives ? MPI_Issend : MPI_Isend)(data, bytes, MPI_BYTE, send.peer, tag(send), comm_, request);
      });
    wait([&](std::size_t pending) {
      const MessageTransfer& transfer = *of_request_[pending];
      return fmt::format("rank {}, step {}: message {} was not {} rank {}", rank_, step + 1, transfer.message,
                         pending < receives ? "sent by" : "received by", transfer.peer);
    });
  }

  void barrier() override { meet("a barrier", ReduceOp::Max, 0); }

  double all_reduce(ReduceOp op, double mine) override { return meet("a sum", op, mine); }

 private:
  // Every rank sends its number to rank 0, and receives the result down a binomial tree: of 8 ranks, 0 sends
  // to 1, 2 and 4, 1 to 3 and 5, 2 to 6, 3 to 7. MPI's own collectives would do, but could not report the
  // rank that they wait for: here rank 0, which prints, waits for each rank by number, and for none
  // afterwards. A roll call before MPI's own barrier was not enough: a rank that stopped after the one and
  // before the end of the other was not named.
  double meet(const char* where, ReduceOp op, double mine) {
    if (rank_ > 0) {
      send_number(0, mine, where);
      const Rank parent = rank_ - static_cast<Rank>(std::bit_floor(static_cast<unsigned>(rank_)));
      numbers_.resize(1);
      requests_.assign(1, MPI_REQUEST_NULL);
      MPI_Irecv(numbers_.data(), 1, MPI_DOUBLE, parent, 0, comm_, requests_.data());
      wait([&](std::size_t) {
        return fmt::format("rank {}: rank {} did not come to {}", rank_, parent, where);
      });
      return tell_children(numbers_[0], where);
    }
    numbers_.assign(ranks_, mine);
    requests_.assign(ranks_ - 1, MPI_REQUEST_NULL);
    for (Rank n = 1; n < ranks_; ++n) MPI_Irecv(&numbers_[n], 1, MPI_DOUBLE, n, 0, comm_, &requests_[n - 1]);
    wait([&](std::size_t pending) {
      return fmt::format("rank 0: rank {} did not come to {}", pending + 1, where);
    });
    for (Rank n = 1; n < ranks_; ++n)
      mine = op == ReduceOp::Sum ? mine + numbers_[n] : std::max(mine, numbers_[n]);
    return tell_children(mine, where);
  }

  // The children of a rank are those that differ from it by a bit above its highest.
  double tell_children(double result, const char* where) {
    for (Rank bit = static_cast<Rank>(std::bit_ceil(static_cast<unsigned>(rank_) + 1)); rank_ + bit < ranks_;
         bit *= 2)
      send_number(rank_ + bit, result, where);
    return result;
  }

  // So short that MPI takes it at once, whether or not the other is there.
  void send_number(Rank peer, double number, const char* where) {
    requests_.assign(1, MPI_REQUEST_NULL);
    MPI_Isend(&number, 1, MPI_DOUBLE, peer, 0, comm_, requests_.data());
    wait([&](std::size_t) { return fmt::format("rank {}: rank {} did not come to {}", rank_, peer, where); });
  }

  int tag(const MessageTransfer& transfer) const {
    return static_cast<int>(transfer.message % (std::int64_t{largest_tag_} + 1));
  }

  template <typename Post>  // void(std::byte*, int bytes, MPI_Request*)
  void for_parts(const MessageTransfer& transfer, Post post) {
    std::int64_t begin = 0;
    do {
      const std::int64_t bytes = std::min(kLongestPart, transfer.bytes - begin);
      requests_.push_back(MPI_REQUEST_NULL);
      of_request_.push_back(&transfer);
      post(transfer.data + begin, static_cast<int>(bytes), &requests_.back());
      begin += bytes;
    } while (begin < transfer.bytes);
  }

  // MPI_Waitall with a limit. The clock is read now and then only: it costs as much as a test.
  template <typename Complaint>  // std::string(std::size_t index of a request)
  void wait(Complaint complaint) {
    std::chrono::steady_clock::time_point start = {};
    for (int turn = 0;; ++turn) {
      int all = 0;
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
      if (all) return;
      if (turn % 1024 != 1023) continue;
      const auto now = std::chrono::steady_clock::now();
      if (turn == 1023) start = now;
      if (now - start > timeout_) break;
    }
    if (hung_ != nullptr) *hung_ = true;
    throw Hang(fmt::format("{} within {:.3g} s", complaint(first_pending()),
                           std::chrono::duration<double>(timeout_).count()));
  }

  std::size_t first_pending() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (!done) return i;
    }
    return 0;
  }

  const MPI_Comm comm_;
  bool* const hung_;
  const std::chrono::milliseconds timeout_;
  Rank rank_ = 0;
  int ranks_ = 1;
  int largest_tag_ = 32767;                              // what MPI promises at least
  std::vector<MPI_Request> requests_ = {};               // of the wait in progress
  std::vector<double> numbers_ = {};                     // of a meeting: those that this rank receives
  std::vector<const MessageTransfer*> of_request_ = {};  // of an exchange: what each request belongs to
};

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
    return std::make_unique<MpiTransport>(comm_, hung_, timeout);
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

std::unique_ptr<Transport> mpi_transport(int comm, std::chrono::milliseconds timeout) {
  return std::make_unique<MpiTransport>(MPI_Comm_f2c(comm), nullptr, timeout);
}

}  // namespace chorale
