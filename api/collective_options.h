// How a question names the participants.
#pragma once

#include <optional>
#include <string>

#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

// Of a collective by name: the participants, and the counts of each.
struct CollectiveOptions {
  std::optional<Rank> root = {};  // of a name that has one; in groups its number in each
  // Order of its sums (ir/sum_order.h): "agreed"; "free"; "fixed", along a tree that suits the machine
  // (construct/fixed_order.h); or a tree, "((0 1) (2 3))". If given, it replaces the order of a collective
  // from a file.
  std::string order = {};
  std::string group = {};  // these ranks only, numbered as they come: "3,11,19"; the others may relay
  std::string groups =
      {};  // several at once: "0,1,2;3,4,5", or a name: "row", "column", "boxes", "rails", a level
  std::string counts =
      {};  // chunks of each rank, "3,1,0,2", of alltoallv one row per source; or a JSON file of them
  // What the machine was made from, in which names of groups are looked up; "": the machine's own name.
  std::string machine = {};
  MachineChanges changes = {};
};

}  // namespace chorale
