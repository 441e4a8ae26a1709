// Follows what each rank holds of each chunk, and how a step changes it.
//
// A value is how often each rank's contribution is in it; of a collective that does not combine, how often
// the one original is (a value then has one count). Counts that are all 0 mean that the rank holds nothing,
// and adding to it is copying. Counts are bytes and saturate at 255: a schedule can double them every step,
// and from 2 on they are wrong whatever they are.
//
// Only received values take room: 449 bytes of a file name a ReduceScatter of 4,096 ranks, whose counts are
// 137 GB. Every other value is the initial one, which the collective defines.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

class State {
 public:
  // The state is that before the first step. Both arguments must outlive the state.
  State(const Topology&, const Collective&);

  // The span is valid until the next step.
  std::span<const std::uint8_t> value(Chunk c, Rank n) const;
  bool holds(Chunk, Rank) const;
  // Is any contribution in it more than once?
  bool counts_twice(Chunk, Rank) const;
  // Is it what the postcondition asks for: each contribution of pre(c) exactly once and nothing else, or one
  // copy.
  bool is_complete(Chunk, Rank) const;

  // All sends read what was held before the step; the replacing ones happen before the adding ones. Requires
  // chunks and links in range. Costs what its sends cost, however large the collective is.
  void apply(const Step&);

  // Returns to the state before the first step.
  void restart();

 private:
  std::uint64_t key(Chunk c, Rank n) const { return static_cast<std::uint64_t>(c) * ranks_ + n; }
  std::span<const std::uint8_t> at_start(Chunk, Rank) const;
  std::uint8_t* received(const Send&);

  const Topology& topology_;
  const Collective& collective_;
  const std::size_t ranks_;
  const std::size_t width_;  // counts of a value
  std::vector<std::uint8_t>
      at_start_;  // zeros around a one: every value that there is at the start lies in here
  std::unordered_map<std::uint64_t, std::size_t> received_ = {};  // by key: where its counts begin
  std::vector<std::uint8_t> counts_ = {};                         // of what was received
  std::vector<std::uint8_t> sent_ = {};  // values in flight; kept between steps for its memory
};

}  // namespace chorale
