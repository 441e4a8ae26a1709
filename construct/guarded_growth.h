// Growth (tree_growth.h) over any ways, under guard.
#pragma once

#include <optional>
#include <vector>

#include "construct/effort.h"
#include "construct/ground.h"
#include "ir/schedule.h"

namespace chorale {

// A schedule of at most `rounds` rounds if that succeeds, else of a few more, at most `most`; none if that
// does not do, or when stopped or when the effort does not do: a chunk that a rank may lack, at each rank
// that may have it, is a look. `block` by rank: ranks that are best entered once by each chunk (the receiving
// side of a tight cut and its images); all 0 if there are none. The same seed gives the same schedule.
// Requires at most 64 entries a rank.
std::optional<Schedule> grow_guarded(const Ground&, int rounds, int most, const std::vector<int>& block,
                                     unsigned seed, Effort& effort);

}  // namespace chorale
