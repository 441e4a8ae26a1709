// Ranks as processes of MPI, for collectives and workloads: all messages of a step are posted at once,
// receives first. MPI has no waits with a limit, so a bounded wait is a loop of tests with a clock; the peer
// that it waits for, which MPI does not report, follows from the request that is not done. C++17, and is
// copied into emitted programs.
//
// Messages and meetings share a communicator, meetings with tag 0, as a message may have. They do not mix up:
// every rank has the same exchanges and meetings in the same order, and MPI keeps the order of a pair. Two
// messages of a pair may share a tag, of which MPI has as few as 2^15; both ends start them in one order.
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C++ interface that MPI 3 removed, and its warnings
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/exchange/arrival.h"
#include "runtime/exchange/transport.h"

namespace chorale {

class MpiTransport : public HostTransport {
 public:
  // The caller keeps the communicator, and sends nothing in it while a program runs. No wait lasts longer
  // than `patience`; 0: there is no limit. After a Hang, before which *hung is set, MPI cannot be finalized.
  explicit MpiTransport(MPI_Comm comm, std::chrono::milliseconds patience = {}, bool* hung = nullptr)
      : comm_(comm), patience_(patience), hung_(hung) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    requests_.clear();
    for (Delivery& receive : receives) {
      start_receive(receive, requests_);
      receive.at = receive.data;
      receive.at_pieces = nullptr;
    }
    for (const Delivery& send : sends)
      start_send(send, requests_, waits_for_arrival(!receives.empty(), send.bytes));
    wait(requests_, [&](std::size_t pending) {
      return pending < receives.size() ? lost(rank_, receives[pending], false, patience_)
                                       : lost(rank_, sends[pending - receives.size()], true, patience_);
    });
  }

  void start(Delivery& message, bool sends, int number) override {
    started_.push_back({&message, sends, number});
    message.at = message.data;
    if (sends)
      start_send(message, started_requests_, message.arrives);
    else
      start_receive(message, started_requests_);
  }
  std::vector<int> ended(bool waits = true) override {
    if (started_.empty()) return {};
    const int count = static_cast<int>(started_.size());
    std::vector<int> over(started_.size()), numbers;
    int some = 0;
    if (waits && patience_.count() == 0)
      check(MPI_Waitsome(count, started_requests_.data(), &some, over.data(), MPI_STATUSES_IGNORE));
    else
      until(
          [&] {
            check(MPI_Testsome(count, started_requests_.data(), &some, over.data(), MPI_STATUSES_IGNORE));
            return some > 0 || !waits;
          },
          [&] { return lost(rank_, *started_[0].message, started_[0].sends, patience_); });
    for (int k = 0; k < some; ++k) numbers.push_back(std::exchange(started_[over[k]].number, -1));
    started_.erase(
        std::remove_if(started_.begin(), started_.end(), [](const Started& each) { return each.number < 0; }),
        started_.end());
    started_requests_.erase(std::remove(started_requests_.begin(), started_requests_.end(), MPI_REQUEST_NULL),
                            started_requests_.end());
    return numbers;
  }

  void post(const Delivery& send) override {
    posted_.push_back(send);
    start_send(send, posted_requests_, false);
  }
  void finish() override {
    wait(posted_requests_,
         [&](std::size_t pending) { return lost(rank_, posted_[pending], true, patience_); });
    posted_.clear();
    posted_requests_.clear();
  }

  // Every rank sends its number to rank 0, and receives those of all down a binomial tree: of 8 ranks, 0
  // sends to 1, 2 and 4, 1 to 3 and 5, 2 to 6, 3 to 7. MPI's own collectives would do, but could not report
  // the rank that they wait for: here rank 0, which prints, waits for each rank by number, and for none
  // afterwards. A roll call before MPI's own barrier was not enough: a rank that stopped after the one and
  // before the end of the other was not named.
  std::vector<double> all(double mine) override {
    std::vector<double> numbers(static_cast<std::size_t>(ranks_), mine);
    int top = 1;  // the highest bit of the rank
    while (top * 2 <= rank_) top *= 2;
    if (rank_ > 0) {
      send_numbers(0, &mine, 1);
      requests_.assign(1, MPI_REQUEST_NULL);
      check(MPI_Irecv(numbers.data(), ranks_, MPI_DOUBLE, rank_ - top, 0, comm_, requests_.data()));
      wait(requests_, [&](std::size_t) { return absent(rank_, rank_ - top, patience_); });
    } else {
      requests_.assign(static_cast<std::size_t>(ranks_ - 1), MPI_REQUEST_NULL);
      for (int n = 1; n < ranks_; ++n)
        check(MPI_Irecv(&numbers[n], 1, MPI_DOUBLE, n, 0, comm_, &requests_[n - 1]));
      wait(requests_,
           [&](std::size_t pending) { return absent(0, static_cast<int>(pending) + 1, patience_); });
    }
    // The children of a rank are those that differ from it by a bit above its highest.
    for (int bit = rank_ > 0 ? 2 * top : 1; rank_ + bit < ranks_; bit *= 2)
      send_numbers(rank_ + bit, numbers.data(), ranks_);
    return numbers;
  }

 private:
  struct Started {
    const Delivery* message = nullptr;
    bool sends = false;
    int number = 0;
  };

  void send_numbers(int peer, const double* numbers, int count) {
    requests_.assign(1, MPI_REQUEST_NULL);
    check(MPI_Isend(numbers, count, MPI_DOUBLE, peer, 0, comm_, requests_.data()));
    wait(requests_, [&](std::size_t) { return absent(rank_, peer, patience_); });
  }
  // Each of these is a tag in any MPI.
  static int tag(const Delivery& delivery) { return delivery.tag % (1 << 15); }
  void start_receive(const Delivery& receive, std::vector<MPI_Request>& requests) {
    start(receive, requests, [&](void* data, int count, MPI_Datatype type, MPI_Request* request) {
      return MPI_Irecv(data, count, type, receive.peer, tag(receive), comm_, request);
    });
  }
  void start_send(const Delivery& send, std::vector<MPI_Request>& requests, bool arrives) {
    start(send, requests, [&](void* data, int count, MPI_Datatype type, MPI_Request* request) {
      return (arrives ? MPI_Issend : MPI_Isend)(data, count, type, send.peer, tag(send), comm_, request);
    });
  }
  // One message of any content: pieces, and messages longer than an int can count, get a derived datatype.
  template <typename Start>
  static void start(const Delivery& delivery, std::vector<MPI_Request>& requests, Start function) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    requests.push_back(MPI_REQUEST_NULL);
    if (delivery.pieces.empty() && delivery.bytes <= most) {
      check(function(delivery.data, static_cast<int>(delivery.bytes), MPI_BYTE, &requests.back()));
      return;
    }
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    const auto add = [&](char* at, std::int64_t count) {
      for (std::int64_t b = 0; b < count; b += most) {
        places.emplace_back();
        lengths.push_back(static_cast<int>(std::min(most, count - b)));
        check(MPI_Get_address(at + b, &places.back()));
      }
    };
    if (delivery.pieces.empty()) add(static_cast<char*>(delivery.data), delivery.bytes);
    for (const Interval<char>& piece : delivery.pieces) add(piece.at, piece.count);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(), places.data(), MPI_BYTE,
                                   &type));
    check(MPI_Type_commit(&type));
    check(function(MPI_BOTTOM, 1, type, &requests.back()));
    check(MPI_Type_free(&type));  // once the message is through
  }

  // MPI_Waitall with a limit. The clock is read now and then only: it costs as much as a test.
  template <typename Complaint>  // Hang(std::size_t index of a request)
  void wait(std::vector<MPI_Request>& requests, Complaint complaint) {
    const int count = static_cast<int>(requests.size());
    if (patience_.count() == 0) return check(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE));
    until(
        [&] {
          int all = 0;
          check(MPI_Testall(count, requests.data(), &all, MPI_STATUSES_IGNORE));
          return all != 0;
        },
        [&] { return complaint(first_pending(requests)); });
  }
  template <typename Condition, typename Complaint>  // bool(), Hang()
  void until(Condition holds, Complaint complaint) {
    std::chrono::steady_clock::time_point start = {};
    for (int turn = 0;; ++turn) {
      if (holds()) return;
      if (turn % 1024 != 1023) continue;
      const auto now = std::chrono::steady_clock::now();
      if (turn == 1023) start = now;
      if (now - start > patience_) break;
    }
    if (hung_ != nullptr) *hung_ = true;
    throw complaint();
  }
  static std::size_t first_pending(std::vector<MPI_Request>& requests) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      int done = 0;
      MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
      if (!done) return i;
    }
    return 0;
  }
  static void check(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error("MPI reports error " + std::to_string(code));
  }

  MPI_Comm comm_;
  const std::chrono::milliseconds patience_;
  bool* const hung_;
  int rank_ = 0, ranks_ = 1;
  std::vector<MPI_Request> requests_ = {}, posted_requests_ = {}, started_requests_ = {};
  std::vector<Started> started_ = {};
};

}  // namespace chorale
