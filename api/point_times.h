// How long points take at some sizes (point_us, cost/event_time.h): each is simulated once, and any thread
// may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/time_model.h"

namespace chorale {

class PointTimes {
 public:
  explicit PointTimes(Machine machine, TimeModel model = TimeModel::Steps)
      : machine_(std::move(machine)), model_(model) {}

  const Machine& machine() const { return machine_; }
  TimeModel model() const { return model_; }

  std::optional<double> known(const Point&, double block_bytes) const;
  // Nothing where `stop` (null: never) becomes true before it is known.
  std::optional<double> us(const Point&, double block_bytes, const std::atomic<bool>* stop);

 private:
  // Points of the same cost may have other schedules, so these are part of it.
  using Key = std::tuple<int, int, int, std::uint64_t, double>;
  static Key key_of(const Point&, double block_bytes);

  const Machine machine_;
  const TimeModel model_;
  mutable std::mutex mutex_;
  std::map<Key, double> known_ = {};
};

}  // namespace chorale
