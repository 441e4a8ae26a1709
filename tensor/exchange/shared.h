// Ranks as processes of one machine that lend each other their memory (lending.h). Each rank has a heap: a
// file of memory that all of them have mapped. What is sent from the own heap is read where it lies; other
// data are copied there first. The caller makes the heaps (python/chorale/shared.py), and takes memory from
// the first half of its own; the second half is for those copies. Linux. C++17, and is copied into emitted
// programs.
#pragma once

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/exchange/lending.h"

extern "C" {
struct chorale_shared {
  int rank, ranks;
  std::int64_t bytes;           // of each heap; its memory is zero before it is used
  unsigned char* const* heaps;  // by rank: where it is mapped here
  const std::int64_t* places;   // by rank: where in its heap chorale_line_bytes(ranks) are for these ranks
  const int* processes;         // by rank: a descriptor of its process (pidfd_open), or -1
};
}

namespace chorale {

class SharedTransport : public LendingTransport {
 public:
  // No wait lasts longer than `patience`, or goes on when a process has ended.
  explicit SharedTransport(const chorale_shared& given,
                           std::chrono::milliseconds patience = std::chrono::minutes(30))
      : rank_(given.rank),
        bytes_(given.bytes),
        patience_(patience),
        heaps_(given.heaps, given.heaps + given.ranks),
        places_(given.places, given.places + given.ranks),
        processes_(given.processes, given.processes + given.ranks),
        sent_(heaps_.size(), 0),
        read_(heaps_.size(), 0),
        noted_(heaps_.size(), 0) {
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "ranks share atomic numbers");
  }
  // The memory of copies that may still be read stays, and all of it in a fork; the rest is given back.
  ~SharedTransport() override {
    if (getpid() != process_) return;
    for (const Copy& copy : copies_)
      if (is_unused(copy)) madvise(copy.at, static_cast<std::size_t>(copy.bytes), MADV_REMOVE);
  }
  SharedTransport(const SharedTransport&) = delete;
  SharedTransport& operator=(const SharedTransport&) = delete;

  static std::int64_t line_bytes(int ranks) {
    return static_cast<std::int64_t>(sizeof(Bell) + sizeof(Line) * static_cast<std::size_t>(ranks));
  }
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(heaps_.size()); }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    if (sends.size() > kNotes)  // more would wait for each other
      throw std::runtime_error("an exchange has " + std::to_string(sends.size()) +
                               " messages, and shared memory takes " + std::to_string(kNotes) +
                               ": set CHORALE_SHM_DISABLE=1");
    LendingTransport::exchange(sends, receives);
  }

 private:
  static constexpr std::uint64_t kNotes = 1024;  // of a pair under way
  static constexpr std::int64_t kPage = 4096;

  struct Note {
    std::atomic<std::uint64_t> number;  // of the message, from 1 on; written last
    std::int64_t place, bytes;          // in the sender's heap
    std::int32_t tag, stays;
  };
  // With one peer: what it has sent to this rank, and the numbers of this rank's messages that it has read.
  struct Line {
    Note notes[kNotes];
    std::atomic<std::uint64_t> given_back[kNotes];
  };
  struct Bell {
    std::atomic<std::uint32_t> rung, sleepers;
    char rest[56];
  };
  // Memory of this rank's heap, for what was sent from elsewhere.
  struct Copy {
    unsigned char* at;
    std::int64_t bytes;
    int peer;
    Ticket ticket;
  };

  Bell& bell(int rank) const { return *reinterpret_cast<Bell*>(heaps_[rank] + places_[rank]); }
  Line& line(int owner, int peer) const {
    return reinterpret_cast<Line*>(heaps_[owner] + places_[owner] + sizeof(Bell))[peer];
  }
  bool is_given_back(int peer, Ticket number) const {
    return line(rank_, peer).given_back[number % kNotes].load(std::memory_order_acquire) >= number;
  }
  bool is_unused(const Copy& copy) const { return copy.ticket == 0 || is_given_back(copy.peer, copy.ticket); }

  bool has_room(const Delivery& send) override {
    return sent_[send.peer] < kNotes || is_given_back(send.peer, sent_[send.peer] + 1 - kNotes);
  }
  Ticket publish(const Delivery& send) override {
    const int peer = send.peer;
    const Ticket number = ++sent_[peer];
    if (number > kNotes) await(send, number - kNotes);
    while (read_[peer] + 1 < number && is_given_back(peer, read_[peer] + 1)) ++read_[peer];
    const unsigned char* data = static_cast<const unsigned char*>(send.data);
    const bool lies_there = send.pieces.empty() && data >= heaps_[rank_] && data < heaps_[rank_] + bytes_;
    if (!lies_there && send.bytes > 0) data = copied(send, number);
    Note& note = line(peer, rank_).notes[number % kNotes];
    note.place = send.bytes > 0 ? data - heaps_[rank_] : 0;
    note.bytes = send.bytes;
    note.tag = send.tag;
    note.stays =
        (send.stays || !lies_there) && number - read_[peer] < kNotes / 2;  // the rest is read at once
    note.number.store(number, std::memory_order_release);
    ring(peer);
    return lies_there ? number : 0;
  }
  const unsigned char* copied(const Delivery& send, Ticket number) {
    Copy* best = nullptr;
    for (Copy& copy : copies_)
      if (copy.bytes >= send.bytes && (best == nullptr || copy.bytes < best->bytes) && is_unused(copy))
        best = &copy;
    if (best == nullptr) {
      copies_.push_back({taken_from_heap(send.bytes), send.bytes, 0, 0});
      best = &copies_.back();
    }
    best->peer = send.peer;
    best->ticket = number;
    Delivery there = send;
    there.pieces.clear();
    there.data = best->at;
    copy({rank_, send.tag, send.data, send.pieces.empty() ? nullptr : &send.pieces, send.bytes}, there);
    return best->at;
  }
  // From the second half, which all programs of this process share.
  unsigned char* taken_from_heap(std::int64_t bytes) const {
    auto& used = *reinterpret_cast<std::atomic<std::int64_t>*>(heaps_[rank_]);
    const std::int64_t at = used.fetch_add((bytes + kPage - 1) / kPage * kPage);
    if (at + bytes > bytes_ / 2) throw std::runtime_error("the shared memory of a rank is used up");
    return heaps_[rank_] + bytes_ / 2 + at;
  }

  bool is_there(const Delivery& receive, Sent& sent) override { return taken(arrived_, receive, sent); }
  // Of a copy that was sent at once.
  bool is_back(const Delivery& send, Ticket number) override {
    return number == 0 || is_given_back(send.peer, number);
  }
  bool holds(const Condition& condition) override {
    look();
    return condition();
  }
  void hand_back(int peer, Ticket number) override {
    line(peer, rank_).given_back[number % kNotes].store(number, std::memory_order_release);
    ring(peer);
  }

  // Takes notes of what has arrived, so that senders find room for more.
  void look() {
    for (int peer = 0; peer < ranks(); ++peer)
      for (;;) {
        const Ticket next = noted_[peer] + 1;
        const Note& note = line(rank_, peer).notes[next % kNotes];
        if (note.number.load(std::memory_order_acquire) != next) break;
        arrived_.push_back(
            {peer, note.tag, heaps_[peer] + note.place, nullptr, note.bytes, note.stays != 0, next});
        noted_[peer] = next;
      }
  }
  void ring(int peer) {
    Bell& its = bell(peer);
    its.rung.fetch_add(1);
    if (its.sleepers.load() != 0) syscall(SYS_futex, &its.rung, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  // A message from a running rank arrives within a few time slices of the scheduler; a rank that waits longer
  // sleeps until its bell is rung, which is done after what it waits for has changed.
  void wait(const Condition& condition, const Delivery& message, bool sends) override {
    for (int turn = 0; turn < 50; ++turn) {
      if (holds(condition)) return;
      sched_yield();
    }
    Bell& own = bell(rank_);
    const auto start = std::chrono::steady_clock::now();
    for (bool there = false; !there;) {
      own.sleepers.store(1);
      const std::uint32_t rung = own.rung.load();
      there = holds(condition);
      const std::timespec second = {1, 0};
      const bool in_vain = !there &&
                           syscall(SYS_futex, &own.rung, FUTEX_WAIT, rung, &second, nullptr, 0) != 0 &&
                           errno == ETIMEDOUT;
      own.sleepers.store(0);
      if (!in_vain) continue;
      require_others();
      if (std::chrono::steady_clock::now() - start > patience_) throw lost(rank_, message, sends, patience_);
    }
  }
  void require_others() const {
    for (int peer = 0; peer < ranks(); ++peer) {
      pollfd ended = {processes_[peer], POLLIN, 0};
      if (peer != rank_ && processes_[peer] >= 0 && poll(&ended, 1, 0) > 0)
        throw std::runtime_error("the process of rank " + std::to_string(peer) + " has ended");
    }
  }

  const pid_t process_ = getpid();
  const int rank_;
  const std::int64_t bytes_;
  const std::chrono::milliseconds patience_;
  const std::vector<unsigned char*> heaps_;
  const std::vector<std::int64_t> places_;
  const std::vector<int> processes_;
  // By peer: numbers of messages sent, of those up to which all are given back, and of those received.
  std::vector<Ticket> sent_, read_, noted_;
  std::vector<Sent> arrived_ = {};
  std::vector<Copy> copies_ = {};
};

}  // namespace chorale
