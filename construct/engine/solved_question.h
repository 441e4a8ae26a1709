// A question, and the equivalent one that encodings and constructions solve instead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A sum of which every chunk has one destination (Reduce, ReduceScatter), in whatever order, is a reversed
// copy: its dual on the reversed machine has just its schedules, last step first, and needs no contributions
// in its formula. Only this file decides so.
struct SolvedQuestion {
  SolvedQuestion(const Topology& asked_on, const Collective& asked);

  Schedule answer(Schedule of_solved) const;  // for what was asked
  Point point(Schedule of_solved, const Collective& asked, const std::string& construction) const;

  bool is_reversed = false;
  Topology topology = {};
  Collective collective = {};
};

// Machines that equal their reverse, as most do: on these a ReduceScatter is a reversed Allgather.

// [link] -> link in the other direction, such that the machine is preserved: bandwidths, latencies, shared
// limits. Nothing if the k-th of equal links from a to b cannot be mapped to the k-th from b to a.
std::optional<std::vector<LinkId>> mirror_of(const Topology&);

// Returns a schedule of copies as one of sums, on the same machine: last step first, each send over the
// reverse link. `point` is of the dual of `summing`; the cost is equal.
Point mirrored(const Point&, const Collective& summing, const std::vector<LinkId>& mirror);

// Returns the classes of chunks of which something has to move; by pre, then post.
std::vector<ChunkClass> moving_classes(const Collective&);

// Returns the schedule without empty steps, sends sorted, each step with the rounds that it needs; and where
// a rank has no contribution of its own, what it is sent first of a sum is stored, not added.
Schedule tidy_sums(const Topology&, const Collective&, Schedule);

}  // namespace chorale
