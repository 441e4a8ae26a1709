// Times of points by cost, a hash of the schedule, and size: a search asks for the same points again and
// again, in other results. The simulation runs without the lock, so two threads may time one point; both get
// the same number.
#include "api/point_times.h"

#include "cost/event_time.h"
#include "ir/fnv.h"

namespace chorale {
namespace {

// Of words. Rounds are complemented, so that a step cannot be mistaken for a send, whose highest bit
// is 0. Two schedules of equal cost and equal hash would share a time; among a million schedules, random
// hashes of 64 bits coincide with probability 3e-8.
std::uint64_t hash_of(const Schedule& schedule) {
  std::uint64_t hash = kFnvBasis;
  const auto add = [&](std::uint64_t word) { hash = fnv_with(hash, word); };
  for (const Step& step : schedule.steps) {
    add(~static_cast<std::uint64_t>(step.rounds));
    for (const Send& send : step.sends)
      add(static_cast<std::uint64_t>(send.chunk) << 32 | static_cast<std::uint32_t>(send.link) << 1 |
          (send.reduce ? 1 : 0));
  }
  return hash;
}

}  // namespace

PointTimes::Key PointTimes::key_of(const Point& point, double block_bytes) {
  const Cost& cost = point.cost;
  return {cost.steps, cost.rounds, cost.chunks, hash_of(point.schedule), block_bytes};
}

std::optional<double> PointTimes::known(const Point& point, double block_bytes) const {
  const Key key = key_of(point, block_bytes);
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(key);
  return at == known_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<double> PointTimes::us(const Point& point, double block_bytes, const std::atomic<bool>* stop) {
  if (const std::optional<double> us = known(point, block_bytes)) return us;
  const std::optional<double> us = point_us(machine_, model_, point, block_bytes, stop);
  if (!us) return {};
  const Key key = key_of(point, block_bytes);
  const std::lock_guard lock(mutex_);
  known_[key] = *us;
  return us;
}

}  // namespace chorale
