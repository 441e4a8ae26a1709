// What no other of the set beats: points by steps, each with fewer rounds per chunk than those before it.
#pragma once

#include <memory>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Immutable, so that all holders share it.
using SharedPoint = std::shared_ptr<const Point>;

// Chunk counts may differ. Of points that cost the same, one that needs no memory for what it gathers is
// kept, then the one of the fewest chunks, then the first: whatever the order in which they come, the costs
// kept are the same.
class ParetoSet {
 public:
  // Takes the point unless one that is kept is as good, and drops what it beats. What is not kept goes to
  // `beaten`, where that is given. Returns whether it was taken.
  bool put(SharedPoint, std::vector<SharedPoint>* beaten = nullptr);

  // Is it kept?
  bool has(const Point&) const;
  // Is something that is kept as good as this cost, so that a point of it brings nothing?
  bool covers(const Cost&) const;
  // The lowest rate of at most `steps` steps; null if there is none.
  const Point* best_within(int steps) const;

  const std::vector<SharedPoint>& points() const& { return points_; }
  const std::vector<SharedPoint>& points() const&& = delete;
  bool empty() const { return points_.empty(); }

 private:
  std::vector<SharedPoint> points_ = {};
};

// Have both one cost, construction and schedule? Of equal cost one may be the faster where links differ.
bool is_same(const Point&, const Point&);

}  // namespace chorale
