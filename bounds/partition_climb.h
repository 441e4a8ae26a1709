// Searches for partitions of the ranks that chunks must cross often relative to the capacity of the
// crossings: crossings / capacity. For an AllReduce without shared limits strength.h has the best one; to
// find the best partition for chunks of some ranks (Steiner trees) is NP-hard, so this is a search: Newton's
// method for the ratio (Dinkelbach), and for each guess at it a climb that merges groups and moves ranks as
// long as crossings - ratio * capacity grows.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "bounds/crossings.h"
#include "ir/topology.h"

namespace chorale {

struct ClimbLimits {
  long long work = 40'000'000;  // links and terminals examined: a few tenths of a second
  const std::atomic<bool>* stop = nullptr;
};

// Calls `consider` with every partition that may be the best so far (groups by rank, named by a number below
// the ranks); it returns the best ratio that it knows, exactly counted.
void climb_partitions(const Topology&, const Crossings&,
                      const std::function<double(const std::vector<int>& group)>& consider,
                      const ClimbLimits& = {});

// The sides of a grid of rank numbers, for each divisor of the ranks: n / d, and n % d. Rows and columns are
// among them.
std::vector<std::vector<int>> number_partitions(int ranks);

}  // namespace chorale
