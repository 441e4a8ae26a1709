// How a file states in which order a rank adds up what arrives in one step. Its sends are listed so that a
// reader who adds from the left, first what the rank holds (or the copy that replaces it), then the
// arrivals as listed, adds along the combination tree (ir/agreement.h). Where no list does that, a
// sum is stated in brackets.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// What a rank adds up of a chunk in a step: values by the ranks that they come from, its own by its own rank.
// More than two in a pair of brackets are added from the left: "((0 1) 2 3)" is 0 and 1, then 2, then 3.
struct StatedSum {
  Chunk chunk = 0;
  Rank rank = 0;
  std::string order = {};
  bool operator==(const StatedSum&) const = default;
};

struct StatedStep {
  std::vector<Send> sends = {};      // those of the step; of a chunk to one rank in the order of additions
  std::vector<StatedSum> sums = {};  // by chunk and rank; those that the order of `sends` does not state
  bool operator==(const StatedStep&) const = default;
};

// By step. Of a schedule with a chunk or a link out of range: its sends, as they are.
std::vector<StatedStep> stated_steps(const Topology&, const Collective&, const Schedule&);

}  // namespace chorale
