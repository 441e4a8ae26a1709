// An algorithm: steps that follow each other; in a step all sends read what their rank held *before* the
// step.
#pragma once

#include <compare>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

struct Send {
  Chunk chunk = 0;
  LinkId link = 0;      // from topology.links[link].src to its .dst
  bool reduce = false;  // the receiver adds the value to its own; otherwise the value replaces its own
  auto operator<=>(const Send&) const = default;
};

struct Step {
  int rounds = 1;                // >= 1: each link moves at most rounds * bandwidth chunks in this step
  std::vector<Send> sends = {};  // sorted
  bool operator==(const Step&) const = default;
};

struct Schedule {
  std::vector<Step> steps = {};
  bool operator==(const Schedule&) const = default;
};

int total_rounds(const Schedule&);
long long total_sends(const Schedule&);

// Returns the fewest in which the machine's links and limits carry the step's sends; at least 1.
int needed_rounds(const Topology&, const Step&);

// What a limit counts a send as, by its abilities: sends of one step over it with equal keys count once. A
// limit that multicasts counts by source, one that reduces by destination, and one that does both counts sums
// by destination and copies by source.
struct CountedOnce {
  Chunk chunk = 0;
  enum class By { Link, Source, Destination } by = By::Link;
  int number = 0;  // of the link, or of the rank
  auto operator<=>(const CountedOnce&) const = default;
};
CountedOnce counted_as(const Topology&, const SharedLimit&, const Send&);

// Returns steps in reverse order, for the reversed topology and the dual collective; every send gets
// `reduce`.
Schedule reversed(const Schedule&, bool reduce);

// Makes a schedule of the sends of a model, which every decoder does last: drops sends that lead to no
// destination, second arrivals of a copy (collectives that do not combine) and empty steps, sorts the sends,
// and gives each step the fewest rounds that its links and limits need.
Schedule tidy(const Topology&, const Collective&, Schedule raw);

}  // namespace chorale
