// Ranks as threads of this process, for tensor/exchange/exchange.h: they lend each other their memory
// (lending.h). Waits may be bounded; a rank that fails does not unwind while another one reads its memory:
// each counts itself out, by returning or by failing, and a rank that has waited in vain waits until all
// have. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/exchange/lending.h"

namespace chorale {

// State that the ranks share.
class ThreadRanks {
 public:
  // No wait lasts longer than `patience`; 0: there is no limit.
  ThreadRanks(int ranks, std::chrono::milliseconds patience)
      : patience_(patience), doorbells_(static_cast<std::size_t>(ranks)) {}

 private:
  friend class ThreadTransport;
  friend void on_thread_ranks(int, const std::function<void(class ThreadTransport&)>&,
                              std::chrono::milliseconds);

  struct Doorbell {
    std::mutex mutex = {};
    std::condition_variable rung = {};
    std::vector<LendingTransport::Sent> sent = {};  // to this rank, and not yet found
  };
  struct Stopped {};

  void stop(std::exception_ptr why) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = why;
    }
    stopped_ = true;
    for (Doorbell& doorbell : doorbells_) ring(doorbell);
  }
  static void ring(Doorbell& doorbell) {
    { const std::lock_guard<std::mutex> lock(doorbell.mutex); }  // a thread that is about to sleep holds it
    doorbell.rung.notify_all();
  }
  // Leaves when no other rank can still read its memory.
  void leave() {
    ++left_;
    while (left_ < static_cast<int>(doorbells_.size())) std::this_thread::yield();
  }

  const std::chrono::milliseconds patience_;
  std::vector<Doorbell> doorbells_;
  std::vector<std::atomic<int>> barriers_ = std::vector<std::atomic<int>>(doorbells_.size());  // of each rank
  std::vector<double> numbers_ = std::vector<double>(doorbells_.size());
  std::atomic<int> arrived_{0}, generation_{0}, left_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_ = {};
  std::exception_ptr failure_ = {};
};

class ThreadTransport : public LendingTransport {
 public:
  ThreadTransport(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(all_.doorbells_.size()); }

  void barrier() override {
    const int generation = all_.generation_, mine = ++all_.barriers_[rank_];
    if (++all_.arrived_ == ranks()) {
      all_.arrived_ = 0;
      ++all_.generation_;
      for (ThreadRanks::Doorbell& doorbell : all_.doorbells_) ThreadRanks::ring(doorbell);
    } else {
      wait_until([&] { return all_.generation_ != generation; },
                 [&] {
                   // Those that have come to fewer barriers.
                   int missing = 0;
                   while (missing + 1 < ranks() && all_.barriers_[missing] >= mine) ++missing;
                   return absent(rank_, missing, all_.patience_);
                 });
    }
  }
  std::vector<double> all(double mine) override {
    all_.numbers_[rank_] = mine;
    barrier();
    const std::vector<double> result = all_.numbers_;
    barrier();  // before any rank writes again
    return result;
  }

 private:
  using Read = std::atomic<bool>;  // whether a message is given back; a ticket is the address of one

  Ticket publish(const Delivery& send) override {
    if (unused_.empty()) unused_.push_back(&read_.emplace_back(false));
    Read* const read = unused_.back();
    unused_.pop_back();
    *read = false;
    const Ticket ticket = reinterpret_cast<Ticket>(read);
    ThreadRanks::Doorbell& doorbell = all_.doorbells_[send.peer];
    {
      const std::lock_guard<std::mutex> lock(doorbell.mutex);
      doorbell.sent.push_back({rank_, send.tag, send.data, send.pieces.empty() ? nullptr : &send.pieces,
                               send.bytes, send.stays, ticket});
    }
    doorbell.rung.notify_all();
    return ticket;
  }
  void hand_back(int peer, Ticket ticket) override {
    *reinterpret_cast<Read*>(ticket) = true;
    ThreadRanks::ring(all_.doorbells_[peer]);
  }
  bool is_there(const Delivery& receive, Sent& sent) override {
    return taken(all_.doorbells_[rank_].sent, receive, sent);
  }
  bool is_back(const Delivery&, Ticket ticket) override { return reinterpret_cast<Read*>(ticket)->load(); }
  void forget(Ticket ticket) override { unused_.push_back(reinterpret_cast<Read*>(ticket)); }
  bool holds(const Condition& condition) override {
    const std::lock_guard<std::mutex> lock(all_.doorbells_[rank_].mutex);
    return condition();
  }
  void wait(const Condition& condition, const Delivery& message, bool sends) override {
    wait_until(condition, [&] { return lost(rank_, message, sends, all_.patience_); });
  }
  // A message from a running rank arrives within a few time slices of the scheduler; sleeping costs more. A
  // thread that waits longer sleeps at its own doorbell, which is rung after what it waits for has changed.
  // The condition is evaluated with the doorbell locked.
  template <typename Complaint>  // Hang()
  void wait_until(const Condition& condition, Complaint complaint) {
    ThreadRanks::Doorbell& doorbell = all_.doorbells_[rank_];
    for (int turn = 0; turn < 50; ++turn) {
      if (holds(condition)) return;
      std::this_thread::yield();
    }
    bool holds = false;
    const auto is_over = [&] { return (holds = condition()) || all_.stopped_; };
    {
      std::unique_lock<std::mutex> lock(doorbell.mutex);
      if (all_.patience_.count() == 0)
        doorbell.rung.wait(lock, is_over);
      else
        doorbell.rung.wait_for(lock, all_.patience_, is_over);
    }
    if (holds) return;
    if (!all_.stopped_) all_.stop(std::make_exception_ptr(complaint()));
    all_.leave();
    throw ThreadRanks::Stopped();
  }

  ThreadRanks& all_;
  const int rank_;
  std::deque<Read> read_ = {};
  std::vector<Read*> unused_ = {};
};

// Runs a function in one thread per rank, and waits for all. An exception of one stops the others where they
// wait, and is rethrown; so is a Hang, after `patience`, if that is not 0.
inline void on_thread_ranks(int ranks, const std::function<void(ThreadTransport&)>& each,
                            std::chrono::milliseconds patience = {}) {
  ThreadRanks all(ranks, patience);
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&all, &each, rank] {
        try {
          ThreadTransport transport(all, rank);
          each(transport);
          ++all.left_;
        } catch (const ThreadRanks::Stopped&) {
        } catch (...) {
          all.stop(std::current_exception());
          ++all.left_;
        }
      });
  } catch (...) {  // no memory for a thread: the others end without the ranks that are missing
    all.stop(std::current_exception());
    all.left_ += ranks - static_cast<int>(threads.size());
  }
  for (std::thread& thread : threads) thread.join();
  if (all.failure_) std::rethrow_exception(all.failure_);
}

}  // namespace chorale
