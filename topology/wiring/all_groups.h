// All groups of an order, up to isomorphism.
#pragma once

#include <atomic>
#include <vector>

#include "topology/wiring/group.h"

namespace chorale {

// Up to this order all groups are enumerated.
inline constexpr int kMaxOrderOfAllGroups = 127;

// Each once: all of that order up to kMaxOrderOfAllGroups, beyond it the abelian ones, the semidirect
// products of two cyclic groups and the dicyclic groups. Once `stop` is set, some are left out.
std::vector<Group> groups_of(int order, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
