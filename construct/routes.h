// Over which links the chunks of a collective that copies are to spread: for each chunk an out-tree (a
// forest, where several ranks have it at the start) to all its destinations.
#pragma once

#include <optional>
#include <vector>

#include "construct/work_budget.h"
#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// By chunk. A rank is entered at most once, leaves are destinations, and the link into a rank comes before
// those out of it.
using Routes = std::vector<std::vector<LinkId>>;

// Every destination at its distance, in hops, from the nearest rank that has the chunk. Of equally short
// paths, the one that carries least so far, over ranks that get the chunk anyway. Nothing where a destination
// cannot be reached, or when stopped.
std::optional<Routes> shortest_routes(const Topology&, const Collective& copies, const WorkBudget&);

// Paths may be longer where the short ones are full. Nothing as above.
std::optional<Routes> balanced_routes(const Topology&, const Collective& copies, const WorkBudget&);

}  // namespace chorale
