// A ring through all ranks of a machine.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

using Order = std::vector<Rank>;  // each rank once; the ring closes from the last to the first

struct Ring {
  Order order = {};
  std::vector<LinkId> links = {};  // [position] -> the link to the next rank; empty: any
  bool operator==(const Ring&) const = default;
};

}  // namespace chorale
