// Machines that equal their reverse, as most do: on these a ReduceScatter is a reversed Allgather.
#pragma once

#include <optional>
#include <vector>

#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// [link] -> link in the other direction, such that the machine is preserved: bandwidths, latencies, shared
// limits. Nothing if the k-th of equal links from a to b cannot be mapped to the k-th from b to a.
std::optional<std::vector<LinkId>> mirror_of(const Topology&);

// A schedule of copies as one of sums, on the same machine: last step first, each send over the reverse link.
// `point` is of the dual of `summing`; the cost is equal.
Point mirrored(const Point&, const Collective& summing, const std::vector<LinkId>& mirror);

}  // namespace chorale
