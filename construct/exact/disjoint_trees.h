// Trees to all ranks that together fill links to the last chunk: as many as the tightest cut allows.
#pragma once

#include <optional>
#include <vector>

#include "construct/engine/network.h"
#include "construct/engine/packing.h"
#include "construct/engine/work_budget.h"
#include "ir/collective.h"

namespace chorale {

// A tree for each of `chunks` chunks per block, such that no link carries more than `rounds` rounds hold
// (Edmonds 1973); low ones first. None where some cut does not allow it, where a class is not for all ranks
// or a shared limit binds, and when the effort ends. Copies only.
std::optional<ChunkPacking> disjoint_trees(const Network&, const std::vector<ChunkClass>&, int chunks,
                                           long long rounds, WorkBudget&);

}  // namespace chorale
