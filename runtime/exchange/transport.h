// The seam to what carries messages between ranks, those of collectives and of workloads: threads of this
// process (threads.h), MPI (mpi.h), NCCL (nccl.h), the caller of a library (library.h). Each rank has its
// own. A new one has to have rank(), ranks() and exchange(); for workloads it also has
//   typename Device; Device& device();
//     where elements are and are computed with: tensor/exchange/device.h
// C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/hang.h"
#include "runtime/exchange/arrival.h"
#include "runtime/exchange/scattered.h"

namespace chorale {

// One end of a message.
struct Delivery {
  int peer = 0, tag = 0;
  void* data = nullptr;
  std::int64_t bytes = 0;  // may be 0; the message is sent all the same
  int step = 0;            // for messages of errors
  bool stays = false;      // of a send: the data do not change before release()
  // Of a receive: read before release() and never again, so it need not be put into `data`.
  bool borrows = false;
  const void* at = nullptr;
  // Instead of `data`: pieces of bytes, one after the other. Instead of `at`: those that were borrowed.
  std::vector<Interval<char>> pieces = {};
  const std::vector<Interval<char>>* at_pieces = nullptr;
  std::uint64_t ticket = 0;  // of a receive that has borrowed: for give_back()
  bool arrives = false;      // of a send that is started: it has ended when its receiver has it, not before
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Starts all, and returns when all received data are at `at`, and when all sent data that do not `stay` may
  // be written again. Both lists are in posting order (ir/program.h), and those of a pair with one tag
  // match in their order. Throws Hang.
  virtual void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) = 0;
  // Gives back what was borrowed, and returns when no rank still reads what was sent.
  virtual void release(std::vector<Delivery>&, std::vector<Delivery>&) {}
  // Starts a message of a plan (runtime/exchange/message_plan.h), which stays where it is until it has ended.
  // Those of a pair with one tag match in the order in which they are started.
  virtual void start(Delivery&, bool /*sends*/, int /*number*/) {
    throw std::logic_error("this transport has exchanges alone");
  }
  // Returns the numbers of all of those that have ended; waits until any has, if it may. Throws Hang.
  virtual std::vector<int> ended(bool /*waits*/ = true) { return {}; }
  // Gives back what a receive that was started has borrowed: its sender's message ends with that.
  virtual void give_back(Delivery&) {}
  // What plans for it keep.
  virtual MessageOrder order() const { return MessageOrder::Lanes; }
  // Starts a send before the next exchange, or with it; finish() returns when all of these may be written
  // again.
  virtual void post(const Delivery& send) { posted_.push_back(send); }
  virtual void finish() {
    std::vector<Delivery> none;
    exchange(none, none);
  }

  // Every rank calls these, in the same order. The numbers are by rank.
  virtual std::vector<double> all(double mine) {
    std::vector<double> numbers(static_cast<std::size_t>(ranks()), mine);
    gather(&mine, numbers.data(), sizeof mine, 0, ranks());
    return numbers;
  }
  // As many bytes of each of `count` ranks, from `first` on, by rank. This rank's own are left to the caller.
  void gather(const void* mine, void* everyone, std::int64_t bytes, int first, int count, int tag = 0) {
    const int own = rank() - first;
    std::vector<Delivery> sends, receives;
    for (int distance = 1; distance < count; ++distance) {
      const int from = (own - distance + count) % count;
      sends.push_back({first + (own + distance) % count, tag, const_cast<void*>(mine), bytes});
      receives.push_back({first + from, tag, static_cast<char*>(everyone) + from * bytes, bytes});
    }
    exchange(sends, receives);
    release(sends, receives);
  }
  virtual void barrier() { all(0); }
  double most(double mine) {
    const std::vector<double> numbers = all(mine);
    return *std::max_element(numbers.begin(), numbers.end());
  }
  double sum(double mine) {
    double sum = 0;
    for (const double number : all(mine)) sum += number;
    return sum;
  }

 protected:
  // "rank 1, step 2: message 5 was not sent by rank 0 within 2 s".
  static Hang lost(int rank, const Delivery& message, bool sends, std::chrono::milliseconds patience) {
    return Hang("rank " + std::to_string(rank) + ", step " + std::to_string(message.step + 1) + ": message " +
                std::to_string(message.tag) + " was not " + (sends ? "received" : "sent") + " by rank " +
                std::to_string(message.peer) + within(patience));
  }
  static Hang absent(int rank, int other, std::chrono::milliseconds patience) {
    return Hang("rank " + std::to_string(rank) + ": rank " + std::to_string(other) +
                " did not come to a barrier" + within(patience));
  }

  std::vector<Delivery> posted_ = {};  // what has not been started yet

 private:
  static std::string within(std::chrono::milliseconds patience) {
    char text[32];
    std::snprintf(text, sizeof text, " within %.3g s", std::chrono::duration<double>(patience).count());
    return text;
  }
};

// A transport between ranks that compute on hosts. Collectives need no device, so it is defined by
// tensor/exchange/device.h, which workloads include.
class HostDevice;
class HostTransport : public Transport {
 public:
  using Device = HostDevice;
  inline Device& device();
};

}  // namespace chorale
