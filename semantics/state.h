// What each rank holds of each chunk, and how a step changes it.
//
// A value is how often each rank's contribution is in it; of a collective that does not combine, how often
// the one original is (a value then has one count). A value whose counts are all 0 is no value: the rank
// holds nothing, and adding to it is copying. Counts are bytes and stay at 255 when they get there: a
// schedule can double them every step, and from 2 on they are wrong whatever they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

class State {
 public:
  // Before the first step. Both arguments must outlive the state.
  State(const Topology&, const Collective&);

  std::span<const std::uint8_t> value(Chunk c, Rank n) const { return {&counts_[at(c, n)], width_}; }
  bool holds(Chunk, Rank) const;
  // What the postcondition asks for: each contribution of pre(c) exactly once and nothing else, or one copy.
  bool is_complete(Chunk, Rank) const;

  // All sends read what was held before the step; the replacing ones happen before the adding ones. Requires
  // chunks and links in range. Costs what its sends cost, however large the state is.
  void apply(const Step&);

 private:
  std::size_t at(Chunk c, Rank n) const { return (static_cast<std::size_t>(c) * ranks_ + n) * width_; }
  std::uint8_t* received(const Send& send) {
    return &counts_[at(send.chunk, topology_.links[send.link].dst)];
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::size_t ranks_;
  const std::size_t width_;           // counts of a value
  std::vector<std::uint8_t> counts_;  // by chunk, rank, contribution
  std::vector<std::uint8_t> sent_;    // values in flight; kept between steps for its memory
};

}  // namespace chorale
