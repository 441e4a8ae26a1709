// Which of the algorithms at hand is for a call.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ir/frontier.h"

namespace chorale {

// What somebody is about to do.
struct CollectiveCall {
  CollectiveKind collective = CollectiveKind::Custom;
  std::string custom_name = {};  // of a custom one
  int ranks = 0;                 // of the group that does it
  Rank root = 0;                 // of collectives that have one
  double block_bytes = 0;        // ir/collective_kind.h says what a block is
  auto operator<=>(const CollectiveCall&) const = default;
};

CollectiveCall call_of(const Collective&, double block_bytes);

// Are its points, those on the frontier, for such a call?
bool is_for(const Result&, const CollectiveCall&);

struct Choice {
  int result = 0;  // which of those that were given
  int point = 0;   // of it
  double us = 0;   // that it should take on its machine (point_us, cost/program_time.h)
  bool operator==(const Choice&) const = default;
};

// The point that should be fastest, of those on a frontier of a result for this collective, ranks and root; of equals
// the first. None: there is none. `usable`, if any, is asked whether a point may be taken.
std::optional<Choice> select(std::span<const Result>, const CollectiveCall&,
                             const std::function<bool(const Choice&)>& usable = {});

}  // namespace chorale
