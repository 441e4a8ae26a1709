// Schedules for event time, in which a message waits for its data and its links and for nothing else
// (ir/event_times.h). Chunks are sent as soon as that is useful, over links as they are: of any latency and
// rate. Steps come last, as the fewest that keep what each link, limit and rank does in its order.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Work budget of a size: offers of a chunk over a link that are looked at, some 200 ns each.
inline constexpr long long kEventWork = 4'000'000;

struct EventQuestion {
  const Topology& topology;  // without switches
  const Collective& one;     // with one chunk per block, for as many ranks
  double block_bytes = 0;
  int min_chunks = 1, max_chunks = kAnyChunks;  // per block
  // The time of a schedule of `one` cut into so many chunks per block, for blocks of block_bytes.
  std::function<double(const Schedule&, int chunks)> us = {};
  long long work = kEventWork;
  const std::atomic<bool>* stop = nullptr;
};

// Returns the fastest schedule that was found: verified, its construction "events". Nothing if a destination
// cannot be reached, if what is asked for is too large for the work, or if the order of sums that is asked
// for is not that of its trees. The same question has the same answer.
std::optional<Point> event_schedule(const EventQuestion&);

}  // namespace chorale
