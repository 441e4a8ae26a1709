// Messages between threads without a queue. A mailbox is a flag and a pointer: the sender publishes where its
// data lie, the receiver copies from there and clears the flag, and the sender does not return before that.
// So data move once, and when exchange() returns the box is empty again and may carry the same message in the
// next run.
//
// An exchange publishes all its sends before it waits for anything, and takes all that it receives before it
// waits for its receivers. So its receives wait only for the arrival of the others, and its last wait only
// for their receives: if messages match, it ends, however threads are scheduled.
//
// The flags are atomic and waits are bounded. A rank that fails must not unwind while another one copies from
// its buffers, so each counts itself out of use, by returning or by failing, and a rank that fails waits
// until all have.
#include "runtime/thread_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace chorale {
namespace {

struct Mailbox {
  std::atomic<bool> full = false;  // set by the sender, cleared by the receiver; guards what follows
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

// A thread waits for its rank's doorbell, so that a message wakes the one rank that it concerns.
struct Doorbell {
  std::mutex mutex = {};
  std::condition_variable rung = {};
};

struct HallClosed {};  // thrown where this or another rank has failed; the hall holds the reason

class Hall {  // what the ranks share
 public:
  Hall(const Program& program, std::chrono::milliseconds timeout)
      : timeout_(timeout),
        doorbells_(program.ranks.size()),
        numbers_(program.ranks.size()),
        barriers_(program.ranks.size()) {
    int messages = 0;
    for (const RankProgram& rank : program.ranks)
      for (const ThreadBlock& block : rank.blocks)
        for (const Instruction& i : block.instructions) messages = std::max(messages, i.message + 1);
    mailboxes_ = std::vector<Mailbox>(messages);
  }

  int ranks() const { return static_cast<int>(doorbells_.size()); }
  Mailbox& mailbox(int message) { return mailboxes_[message]; }
  double& number(Rank n) { return numbers_[n]; }

  void ring(Rank n) {
    // A thread that has tested its condition and not yet gone to sleep holds the mutex.
    { std::lock_guard lock(doorbells_[n].mutex); }
    doorbells_[n].rung.notify_all();
  }

  // A message from a running rank arrives within a few time slices of the scheduler; sleeping costs more. A
  // thread that waits longer sleeps at its own rank's doorbell, which is rung after the flag has changed.
  template <typename Condition, typename Complaint>  // bool(); std::string()
  void wait(Rank n, Condition condition, Complaint complaint) {
    for (int i = 0; i < 50; ++i) {
      if (condition()) return;
      std::this_thread::yield();
    }
    std::unique_lock lock(doorbells_[n].mutex);
    const bool in_time =
        doorbells_[n].rung.wait_for(lock, timeout_, [&] { return condition() || stopped_.load(); });
    const bool stopped = stopped_.load();
    if (in_time && !stopped) return;
    lock.unlock();
    if (!stopped)
      stop(std::make_exception_ptr(Hang(
          fmt::format("{} within {:.3g} s", complaint(), std::chrono::duration<double>(timeout_).count()))));
    // Others may still copy from the buffers of this rank, which go when it unwinds.
    out_of_use();
    for (int quiet = quiet_.load(); quiet < ranks(); quiet = quiet_.load()) quiet_.wait(quiet);
    throw HallClosed{};
  }

  // This rank will not touch the memory of another one again.
  void out_of_use() {
    quiet_.fetch_add(1);
    quiet_.notify_all();
  }

  // The last one to arrive sets the count back before it opens the next generation, so a thread that leaves
  // and reaches the next barrier at once counts from 0. barriers_ is for the error message alone: the ranks
  // that have reached fewer barriers are missing.
  void barrier(Rank n) {
    const int generation = generation_.load(), mine = barriers_[n].fetch_add(1) + 1;
    if (arrived_.fetch_add(1) + 1 == ranks()) {
      arrived_.store(0);
      generation_.fetch_add(1);
      for (Rank other = 0; other < ranks(); ++other) ring(other);
    } else {
      wait(
          n, [&] { return generation_.load() != generation; },
          [&] {
            Rank missing = 0;
            while (missing + 1 < ranks() && barriers_[missing].load() >= mine) ++missing;
            return fmt::format("rank {}: rank {} did not come to a barrier", n, missing);
          });
    }
  }

  void stop(std::exception_ptr why) {
    {
      std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = why;
    }
    stopped_.store(true);
    for (Rank n = 0; n < ranks(); ++n) ring(n);
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::chrono::milliseconds timeout_;
  std::vector<Doorbell> doorbells_;
  std::vector<double> numbers_;             // of all_reduce
  std::vector<std::atomic<int>> barriers_;  // to which each rank has come
  std::vector<Mailbox> mailboxes_ = {};
  std::atomic<int> arrived_ = 0, generation_ = 0, quiet_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex failure_mutex_ = {};
  std::exception_ptr failure_ = {};
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Hall& hall, Rank rank) : hall_(hall), rank_(rank) {}

  Rank rank() const override { return rank_; }
  int ranks() const override { return hall_.ranks(); }

  void exchange(int step, std::span<const MessageTransfer> sends,
                std::span<const MessageTransfer> recvs) override {
    for (const MessageTransfer& send : sends) {
      Mailbox& box = hall_.mailbox(send.message);
      box.data = send.data;
      box.bytes = send.bytes;
      box.full.store(true);
      hall_.ring(send.peer);
    }
    for (const MessageTransfer& recv : recvs) {
      Mailbox& box = hall_.mailbox(recv.message);
      hall_.wait(
          rank_, [&] { return box.full.load(); }, [&] { return complaint(step, recv, "was not sent by"); });
      assert(box.bytes == recv.bytes);
      if (recv.bytes > 0) std::memcpy(recv.data, box.data, recv.bytes);
      box.full.store(false);
      hall_.ring(recv.peer);
    }
    for (const MessageTransfer& send : sends) {
      Mailbox& box = hall_.mailbox(send.message);
      hall_.wait(
          rank_, [&] { return !box.full.load(); },
          [&] { return complaint(step, send, "was not received by"); });
    }
  }

  void barrier() override { hall_.barrier(rank_); }

  double all_reduce(ReduceOp op, double mine) override {
    hall_.number(rank_) = mine;
    barrier();
    double result = hall_.number(0);
    for (Rank n = 1; n < ranks(); ++n)
      result = op == ReduceOp::Sum ? result + hall_.number(n) : std::max(result, hall_.number(n));
    barrier();  // before anyone writes again
    return result;
  }

 private:
  std::string complaint(int step, const MessageTransfer& transfer, const char* problem) const {
    return fmt::format("rank {}, step {}: message {} {} rank {}", rank_, step + 1, transfer.message, problem,
                       transfer.peer);
  }

  Hall& hall_;
  const Rank rank_;
};

}  // namespace

void on_threads(const Program& program, std::chrono::milliseconds timeout,
                const std::function<void(Transport&)>& each_rank) {
  Hall hall(program, timeout);
  {
    std::vector<std::jthread> threads;
    for (Rank n = 0; n < hall.ranks(); ++n)
      threads.emplace_back([&hall, &each_rank, n] {
        try {
          ThreadTransport transport(hall, n);
          each_rank(transport);
          hall.out_of_use();
        } catch (const HallClosed&) {
        } catch (...) {
          hall.stop(std::current_exception());
          hall.out_of_use();
        }
      });
  }
  hall.rethrow();
}

}  // namespace chorale
