// A subset of all schedules of an instance: those in which certain chunks cross certain links in certain
// steps, and others do not. A hard instance is split into such cubes, which are solved one by one.
#pragma once

#include <span>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

struct Decision {
  Chunk chunk = 0;
  LinkId link = 0;
  int step = 1;  // from 1 on
  bool sent = true;
  bool operator==(const Decision&) const = default;
};

// Where all of that is so. Of a sum that is asked as its dual (construct/solved_question.h), of the dual.
struct Cube {
  std::vector<Decision> decisions = {};
  bool operator==(const Cube&) const = default;
};

// Is each schedule in exactly one of them, whatever the machine? Requires that they are the leaves of a tree,
// which decides one thing after the other, in this order: each cube begins with what is decided at the root.
// Other partitions are refused.
bool is_partition(std::span<const Cube>);

}  // namespace chorale
