// Growth (tree_growth.h) along shortest ways alone.
#pragma once

#include <atomic>
#include <optional>

#include "construct/ground.h"
#include "ir/schedule.h"

namespace chorale {

// A schedule of at most so many rounds in which every chunk comes over a shortest way; none where that many
// do not do, or when stopped. The same seed gives the same schedule. Requires Ground::is_separate, and at
// most 64 entries a rank.
std::optional<Schedule> grow_locally(const Ground&, int rounds, unsigned seed, const std::atomic<bool>* stop);

}  // namespace chorale
