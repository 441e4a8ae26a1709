// Matrix products beside communication: on a thread of their own, some rows at a time. Where what they read comes from
// other ranks, rows are computed as they arrive; where what they make goes to others, in the order in which the steps of
// that communication first need them, and who needs rows waits for just these. C++17, and goes along with what is emitted.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace chorale {

class RowWorker {
 public:
  // make(begin, end) makes those rows of a result, of which each has so many elements, of rows of an operand.
  RowWorker(std::int64_t rows, std::int64_t operand_row, std::int64_t result_row,
            std::function<void(std::int64_t, std::int64_t)> make)
      : rows_(rows),
        at_once_(std::max<std::int64_t>(1, std::min<std::int64_t>(64, rows / 16))),
        operand_row_(operand_row),
        result_row_(result_row),
        make_(std::move(make)),
        missing_(static_cast<std::size_t>((rows + at_once_ - 1) / at_once_)),
        made_(missing_.size(), 0) {
    for (std::int64_t u = 0; u < units(); ++u) missing_[u] = (end(u) - begin(u)) * operand_row_;
  }
  ~RowWorker() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  RowWorker(const RowWorker&) = delete;
  RowWorker& operator=(const RowWorker&) = delete;

  // All of the operand is there: rows are made in the order of these parts of the result.
  void start(const std::vector<std::pair<std::int64_t, std::int64_t>>& needed) {
    std::vector<char> queued(missing_.size(), 0);
    const auto queue = [&](std::int64_t u) {
      if (queued[u] == 0) ready_.push_back(u);
      queued[u] = 1;
    };
    for (const auto& [from, count] : needed) for_each_unit(from, count, result_row_, queue);
    for (std::int64_t u = 0; u < units(); ++u) queue(u);
    run();
  }
  // Rows are made as arrivals() hears of them.
  void start() {
    if (operand_row_ == 0)
      for (std::int64_t u = 0; u < units(); ++u) ready_.push_back(u);
    run();
  }
  // Until all is made.
  void finish() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return made_count_ == units(); });
  }

  // What a communication tells, and asks: Exchange::run has such.
  struct Arrivals {
    RowWorker& worker;
    void needs(std::int64_t, std::int64_t) {}
    void has(std::int64_t begin, std::int64_t count) { worker.arrived(begin, count); }
  };
  struct Demands {
    RowWorker& worker;
    void needs(std::int64_t begin, std::int64_t count) { worker.wait_for(begin, count); }
    void has(std::int64_t, std::int64_t) {}
  };
  Arrivals arrivals() { return {*this}; }
  Demands demands() { return {*this}; }

 private:
  std::int64_t units() const { return static_cast<std::int64_t>(missing_.size()); }
  std::int64_t begin(std::int64_t unit) const { return unit * at_once_; }
  std::int64_t end(std::int64_t unit) const { return std::min(rows_, (unit + 1) * at_once_); }

  template <typename Function>
  void for_each_unit(std::int64_t begin, std::int64_t count, std::int64_t row, Function function) {
    if (count <= 0 || row == 0) return;
    const std::int64_t last = (begin + count - 1) / row / at_once_;
    for (std::int64_t u = begin / row / at_once_; u <= last; ++u) function(u);
  }
  void arrived(std::int64_t from, std::int64_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for_each_unit(from, count, operand_row_, [&](std::int64_t u) {
      const std::int64_t first = std::max(from, begin(u) * operand_row_),
                         last = std::min(from + count, end(u) * operand_row_);
      if ((missing_[u] -= last - first) == 0) ready_.push_back(u);
    });
    changed_.notify_all();
  }
  void wait_for(std::int64_t from, std::int64_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    for_each_unit(from, count, result_row_,
                  [&](std::int64_t u) { changed_.wait(lock, [&] { return made_[u] != 0; }); });
  }
  void run() {
    thread_ = std::thread([this] {
      for (std::int64_t done = 0; done < units(); ++done) {
        std::int64_t unit = 0;
        {
          std::unique_lock<std::mutex> lock(mutex_);
          changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
          if (ended_) return;
          unit = ready_.front();
          ready_.pop_front();
        }
        make_(begin(unit), end(unit));
        {
          const std::lock_guard<std::mutex> lock(mutex_);
          made_[unit] = 1;
          ++made_count_;
        }
        changed_.notify_all();
      }
    });
  }

  const std::int64_t rows_, at_once_, operand_row_, result_row_;
  const std::function<void(std::int64_t, std::int64_t)> make_;
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  std::vector<std::int64_t> missing_;  // elements of the operand that a unit still waits for
  std::vector<char> made_;
  std::int64_t made_count_ = 0;
  std::deque<std::int64_t> ready_ = {};
  bool ended_ = false;
  std::thread thread_ = {};
};

}  // namespace chorale
