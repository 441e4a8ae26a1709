// A collective composed of collectives of groups: stage after stage, in each stage one collective in disjoint
// groups of ranks at once. The groups are lists here; how they lie on the machine's levels, or in a reduction
// strategy, is resolved before.
//
// A stage means, in each of its groups:
//   allgather, broadcast       what some rank has, all have
//   scatter, alltoall, gather  what some rank has goes to the rank of the group that leads to where it is
//                              wanted: to the destination, or by later stages nearer to it. What all want
//                              (Broadcast) is divided evenly by a scatter.
//   reducescatter, reduce      what all have is added up at the rank of the group that leads to where the sum
//                              is wanted. What all want (AllReduce) is divided evenly by a reducescatter, and
//                              goes to the first by a reduce.
//   allreduce                  what all have is added up, and all have the sum
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

struct OutlineStage {
  CollectiveKind kind = CollectiveKind::Allgather;
  std::string where = {};  // to people: "node"
  std::vector<std::vector<Rank>> groups =
      {};                          // disjoint; ranks in the order in which the collective counts them
  std::string file = {};           // of a result whose points are to be taken, if one was named
  std::vector<Point> points = {};  // of that collective on each group, to choose from; none: constructed
  bool operator==(const OutlineStage&) const = default;
};

using Outline = std::vector<OutlineStage>;

std::string to_text(const Outline&);  // "reducescatter gpu, allreduce node, allgather gpu"

// Ranks as numbers of several digits, the first the outermost level; consecutive ranks share all but the last
// digits.
struct Nesting {
  std::vector<std::string> names = {};  // by level
  std::vector<int> fan_outs = {};       // their product is the number of ranks
  bool operator==(const Nesting&) const = default;
};

// Ranks that differ in the digits of these levels only, in ascending order.
std::vector<std::vector<Rank>> groups_at(const Nesting&, const std::vector<int>& levels);

// From words like those of to_text, levels by name; a stage over several of them is "allreduce node+gpu", one
// whose schedules are in a file "allreduce node=f.json". Throws InputError at `where` ("--outline").
Outline outline_in(const std::string& text, const Nesting&, const std::string& where);

// Returns the first strategy of the first placement in what 'chorale place --json' wrote, its groups as
// stages; device d is rank d. Throws InputError.
Outline outline_from_json(std::string_view text, const std::string& file, int ranks);

}  // namespace chorale
