// What each rank holds of each chunk, and how a step changes it.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A value is how often each rank's contribution is in it; of a collective that does not combine, how often
// the one original is (so a value has one count). An empty value (all counts 0) is no value: the rank holds
// nothing.
class State {
 public:
  explicit State(const Topology&, const Collective&);

  int width() const { return width_; }
  const int* value(Chunk c, Rank n) const { return &counts_[at(c, n)]; }
  bool holds(Chunk c, Rank n) const;
  // Each contribution of pre(c) exactly once, and nothing else.
  bool is_complete_sum(Chunk c, Rank n) const;
  // Does some contribution count more than once?
  bool counts_twice(Chunk c, Rank n) const;

  // All sends read what was held before the step. A replacing send happens before the adding ones.
  void apply(const Step&);

 private:
  std::size_t at(Chunk c, Rank n) const {
    return (static_cast<std::size_t>(c) * ranks_ + static_cast<std::size_t>(n)) * width_;
  }
  const Topology& topology_;
  const Collective& collective_;
  int ranks_;
  int width_;
  std::vector<int> counts_;
};

}  // namespace chorale
