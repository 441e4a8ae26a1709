// The time at which a series of questions must stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "ir/search_options.h"

namespace chorale {

// A point in time, or a flag that another thread sets, whichever comes first; without either, never.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;
  // Ends so long from now on; for ever if negative.
  Deadline(std::chrono::milliseconds time, const std::atomic<bool>* stop) : stop_(stop) {
    if (time.count() >= 0) end_ = Clock::now() + time;
  }
  explicit Deadline(const SolveLimits& limits) : Deadline(limits.time, limits.stop) {}

  // This one, or so long from now on.
  Deadline or_in(std::chrono::milliseconds time) const {
    Deadline sooner(time, stop_);
    if (end_ && (!sooner.end_ || *end_ < *sooner.end_)) sooner.end_ = end_;
    return sooner;
  }

  bool interrupted() const { return stop_ != nullptr && *stop_; }
  bool passed() const { return end_ && Clock::now() >= *end_; }
  bool over() const { return interrupted() || passed(); }

  // What the next question may take; nothing if it is over.
  std::optional<SolveLimits> limits(std::int64_t conflicts = -1) const {
    if (over()) return std::nullopt;
    SolveLimits limits{.conflicts = conflicts, .stop = stop_};
    if (end_)
      limits.time = std::max(std::chrono::milliseconds(1),
                             std::chrono::duration_cast<std::chrono::milliseconds>(*end_ - Clock::now()));
    return limits;
  }

 private:
  std::optional<Clock::time_point> end_ = {};
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace chorale
