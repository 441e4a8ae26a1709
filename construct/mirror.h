// Machines that are the same with every link turned round, as most are: there a ReduceScatter is an Allgather
// backwards.
#pragma once

#include <optional>
#include <vector>

#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// [link] -> link the other way, such that all of the machine stays as it is: bandwidths, latencies, shared
// limits. None where the k-th of like links from a to b does not have the k-th from b to a for it.
std::optional<std::vector<LinkId>> mirror_of(const Topology&);

// A schedule of copies as one of sums, on the same machine: last step first, each send over the link the
// other way. `point` is of `copying`, whose dual is `summing`; of equal cost.
Point mirrored(const Point&, const Collective& summing, const std::vector<LinkId>& mirror);

}  // namespace chorale
