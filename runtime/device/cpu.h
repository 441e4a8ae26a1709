// A thread block on a CPU: threads that meet at a barrier. C++20; copied into emitted programs.
//
// Two flags alternate. Thread 0 may be at the next meeting before another thread has read the flag of this
// one; at the one after that it is only when all have left this one, so it never overwrites what is still to
// be read.
#pragma once

#include <barrier>

namespace chorale {

// As one of the threads sees it.
class CpuTeam {
 public:
  struct Shared {
    explicit Shared(int threads) : barrier(threads) {}
    std::barrier<> barrier;
    bool bad[2] = {false, false};  // of this meeting and of the next
  };

  CpuTeam(int thread, int threads, Shared& shared) : thread_(thread), threads_(threads), shared_(shared) {}

  static constexpr int kTogether = 1;  // loads of 16 bytes at a time
  int thread() const { return thread_; }
  int threads() const { return threads_; }

  // All threads meet. Returns whether thread 0's argument was true.
  bool sync(bool good = true) {
    if (threads_ == 1) return good;
    bool& bad = shared_.bad[meeting_++ & 1];
    if (thread_ == 0) bad = !good;
    shared_.barrier.arrive_and_wait();
    return !bad;
  }

 private:
  const int thread_, threads_;
  Shared& shared_;
  unsigned meeting_ = 0;
};

}  // namespace chorale
