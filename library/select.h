// Which of the algorithms at hand is for a call.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "library/answers.h"

namespace chorale {

// A call of a collective that is to be served.
struct CollectiveCall {
  CollectiveKind collective = CollectiveKind::Custom;
  std::string custom_name = {};  // of a custom one
  int ranks = 0;                 // of the group that does it
  Rank root = 0;                 // of collectives that have one
  double block_bytes = 0;        // for blocks as defined in ir/collective_kind.h
  std::vector<int> counts =
      {};  // of a custom one with counts, allgatherv: blocks of each rank, as few as can be
  auto operator<=>(const CollectiveCall&) const = default;
};

CollectiveCall call_of(const Collective&, double block_bytes);

// Are its points, those on the frontier, for such a call?
bool is_for(const Result&, const CollectiveCall&);

struct Choice {
  int result = 0;         // which of those that were given
  int point = 0;          // of it
  double us = 0;          // that it took, or should take on its machine (point_us, cost/program_time.h)
  bool measured = false;  // it took so long
  bool operator==(const Choice&) const = default;
};

// How long a point of a result took on blocks of this size, or the library's own collective
// (MeasuredTime::kOwn): between two sizes that were measured on a straight line, below the smallest as that,
// over the largest as many times that as the block is larger. None: it was not measured. `times` are of one
// result, over one library.
std::optional<double> measured_us(std::span<const MeasuredTime> times, int point, double block_bytes);

// The point with the least time, of those on a frontier of a result for this collective, ranks and root; of
// equals the first. Nullopt: there is none. `usable`, if any, is asked whether a point may be taken.
// `measured`, if any, has the measurements of each result: if any point was measured, the others are left
// out, since predictions are not comparable with measurements.
std::optional<Choice> select(std::span<const Result>, const CollectiveCall&,
                             const std::function<bool(const Choice&)>& usable = {},
                             std::span<const std::vector<MeasuredTime>> measured = {});

}  // namespace chorale
