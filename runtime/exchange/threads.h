// Ranks as threads of this process, for runtime/exchange/exchange.h. A sender publishes where its data lie;
// the receiver reads them there, and signals when it has. So data that are added up move once, into the
// registers of the rank that adds.
//
// An exchange publishes all its addresses before it waits for anything, and a release gives back all that it
// borrowed before it waits for others to do so. So if messages match, both end, however threads are
// scheduled. Waits may be bounded; a rank that fails does not unwind while another one reads its memory: each
// counts itself out, by returning or by failing, and a rank that has waited in vain waits until all have.
// C++17, and is copied into emitted programs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/exchange/device.h"
#include "runtime/exchange/exchange.h"

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

  struct Sent {
    int from = 0, tag = 0;
    const void* data = nullptr;
    const std::vector<Stretch<char>>* pieces = nullptr;  // instead of data
    std::int64_t bytes = 0;
    bool stays = false;
    std::atomic<bool>* read = nullptr;  // set when no reader needs the data any more
  };
  struct Doorbell {
    std::mutex mutex = {};
    std::condition_variable rung = {};
    std::vector<Sent> sent = {};  // to this rank, and not yet found
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

class ThreadTransport : public Transport {
 public:
  ThreadTransport(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}

  using Device = HostDevice;
  Device& device() { return device_; }
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(all_.doorbells_.size()); }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    while (read_.size() < sends.size()) read_.emplace_back(false);
    for (std::size_t i = 0; i < sends.size(); ++i) publish(sends[i], read_[i]);
    borrowed_.clear();
    for (Delivery& receive : receives) {
      const ThreadRanks::Sent sent = found(receive);
      if (sent.bytes != receive.bytes)
        throw std::logic_error("a message has another length than is expected");
      receive.at = receive.data;
      receive.at_pieces = nullptr;
      if (receive.borrows && sent.stays) {
        receive.at = sent.data;
        receive.at_pieces = sent.pieces;
        // The pieces that it was to be stored in do not hold it.
        if (sent.pieces == nullptr) receive.pieces.clear();
        borrowed_.push_back({receive.peer, sent.read});
        continue;
      }
      copy(sent, receive);
      give_back(receive.peer, sent.read);
    }
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (!sends[i].stays) await(sends[i], read_[i]);
  }
  void release(std::vector<Delivery>& sends, std::vector<Delivery>&) override {
    for (const Borrowed& each : borrowed_) give_back(each.peer, each.read);
    borrowed_.clear();
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (sends[i].stays) await(sends[i], read_[i]);
  }

  void post(const Delivery& send) override {
    posted_.push_back(send);
    posted_read_.emplace_back(false);
    publish(send, posted_read_.back());
  }
  void finish() override {
    for (std::size_t i = 0; i < posted_.size(); ++i) await(posted_[i], posted_read_[i]);
    posted_.clear();
    posted_read_.clear();
  }

  void barrier() override {
    const int generation = all_.generation_, mine = ++all_.barriers_[rank_];
    if (++all_.arrived_ == ranks()) {
      all_.arrived_ = 0;
      ++all_.generation_;
      for (ThreadRanks::Doorbell& doorbell : all_.doorbells_) ThreadRanks::ring(doorbell);
    } else {
      wait([&] { return all_.generation_ != generation; },
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
  struct Borrowed {
    int peer;
    std::atomic<bool>* read;
  };

  // Copies between contiguous memory or pieces.
  static void copy(const ThreadRanks::Sent& sent, const Delivery& receive) {
    std::int64_t from_piece = 0, from_byte = 0;
    const auto copy_to = [&](char* to, std::int64_t bytes) {
      while (bytes > 0) {
        const char* from = static_cast<const char*>(sent.data) + from_byte;
        std::int64_t count = bytes;
        if (sent.pieces != nullptr) {
          const Stretch<char>& piece = (*sent.pieces)[static_cast<std::size_t>(from_piece)];
          from = piece.at + from_byte;
          count = std::min(bytes, piece.count - from_byte);
          if (from_byte + count == piece.count) ++from_piece, from_byte = -count;
        }
        std::memcpy(to, from, static_cast<std::size_t>(count));
        from_byte += count;
        to += count;
        bytes -= count;
      }
    };
    if (receive.pieces.empty()) return copy_to(static_cast<char*>(receive.data), sent.bytes);
    for (const Stretch<char>& piece : receive.pieces) copy_to(piece.at, piece.count);
  }
  void publish(const Delivery& send, std::atomic<bool>& read) {
    read = false;
    ThreadRanks::Doorbell& doorbell = all_.doorbells_[send.peer];
    {
      const std::lock_guard<std::mutex> lock(doorbell.mutex);
      doorbell.sent.push_back({rank_, send.tag, send.data, send.pieces.empty() ? nullptr : &send.pieces,
                               send.bytes, send.stays, &read});
    }
    doorbell.rung.notify_all();
  }
  void give_back(int peer, std::atomic<bool>* read) {
    *read = true;
    ThreadRanks::ring(all_.doorbells_[peer]);
  }
  // Messages of a pair with one tag arrive in order.
  ThreadRanks::Sent found(const Delivery& receive) {
    ThreadRanks::Sent result;
    std::vector<ThreadRanks::Sent>& sent = all_.doorbells_[rank_].sent;
    const auto comes = [&] {
      for (auto it = sent.begin(); it != sent.end(); ++it)
        if (it->from == receive.peer && it->tag == receive.tag) {
          result = *it;
          sent.erase(it);
          return true;
        }
      return false;
    };
    wait(comes, [&] { return lost(rank_, receive, false, all_.patience_); });
    return result;
  }
  void await(const Delivery& send, std::atomic<bool>& read) {
    wait([&] { return read.load(); }, [&] { return lost(rank_, send, true, all_.patience_); });
  }
  // A message from a running rank arrives within a few time slices of the scheduler; sleeping costs more. A
  // thread that waits longer sleeps at its own doorbell, which is rung after what it waits for has changed.
  // The condition is evaluated with the doorbell locked.
  template <typename Condition, typename Complaint>  // bool(), Hang()
  void wait(Condition condition, Complaint complaint) {
    ThreadRanks::Doorbell& doorbell = all_.doorbells_[rank_];
    for (int turn = 0; turn < 50; ++turn) {
      {
        const std::lock_guard<std::mutex> lock(doorbell.mutex);
        if (condition()) return;
      }
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
  HostDevice device_ = {};
  std::deque<std::atomic<bool>> read_ = {};  // by send of the exchange
  std::deque<std::atomic<bool>> posted_read_ = {};
  std::vector<Borrowed> borrowed_ = {};
};

// Runs a function in one thread per rank, and waits for all. An exception of one stops the others where they
// wait, and is rethrown; so is a Hang, after `patience`, if that is not 0.
inline void on_thread_ranks(int ranks, const std::function<void(ThreadTransport&)>& each,
                            std::chrono::milliseconds patience = {}) {
  ThreadRanks all(ranks, patience);
  std::vector<std::thread> threads;
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
  for (std::thread& thread : threads) thread.join();
  if (all.failure_) std::rethrow_exception(all.failure_);
}

}  // namespace chorale
