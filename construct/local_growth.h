// Growth (tree_growth.h) along shortest paths alone.
#pragma once

#include <atomic>
#include <optional>

#include "construct/ground.h"
#include "ir/schedule.h"

namespace chorale {

// A schedule of at most `rounds` rounds in which every chunk comes over a shortest path; nothing if `rounds`
// do not suffice, or when stopped. The same seed gives the same schedule. Requires Ground::is_separate, and
// at most 64 entries per rank.
std::optional<Schedule> grow_locally(const Ground&, int rounds, unsigned seed, const std::atomic<bool>* stop);

}  // namespace chorale
