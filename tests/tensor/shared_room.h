// Ranks as threads that share heaps as processes would (tensor/exchange/shared.h).
#pragma once

#include <sys/mman.h>

#include <exception>
#include <thread>
#include <vector>

#include "tensor/exchange/shared.h"

namespace chorale::test {

class SharedRoom {
 public:
  static constexpr std::int64_t kBytes = 1 << 26, kPage = 4096;

  // Each a process, of which this many have a descriptor; the rest is never looked at.
  explicit SharedRoom(int ranks, std::vector<int> processes = {}) : processes_(std::move(processes)) {
    const std::int64_t line = SharedTransport::line_bytes(ranks);
    for (int n = 0; n < ranks; ++n) {
      // At different places.
      places_.push_back(kPage * (1 + n));
      used_.push_back((places_.back() + line + kPage - 1) / kPage * kPage);
      heaps_.push_back(static_cast<unsigned char*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
    }
    processes_.resize(static_cast<std::size_t>(ranks), -1);
  }
  ~SharedRoom() {
    for (unsigned char* heap : heaps_) munmap(heap, kBytes);
  }
  SharedRoom(const SharedRoom&) = delete;
  SharedRoom& operator=(const SharedRoom&) = delete;

  int ranks() const { return static_cast<int>(heaps_.size()); }
  chorale_shared of(int rank) const {
    return {rank, ranks(), kBytes, heaps_.data(), places_.data(), processes_.data()};
  }
  // Memory in the heap of a rank.
  template <typename T>
  T* take(int rank, std::int64_t count) {
    T* const at = reinterpret_cast<T*>(heaps_[rank] + used_[rank]);
    used_[rank] += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return at;
  }
  // A function of each rank, in a thread of its own.
  template <typename Function>
  void run(const Function& each) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> failures(heaps_.size());
    for (int rank = 0; rank < ranks(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          SharedTransport transport(of(rank), std::chrono::seconds(20));
          each(transport);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

 private:
  std::vector<unsigned char*> heaps_ = {};
  std::vector<std::int64_t> places_ = {}, used_ = {};
  std::vector<int> processes_;
};

}  // namespace chorale::test
