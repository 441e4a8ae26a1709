// Growth (tree_growth.h) along shortest paths alone.
#pragma once

#include <atomic>
#include <optional>

#include "construct/quotient_instance.h"
#include "ir/schedule.h"

namespace chorale {

// A schedule of at most `rounds` rounds in which every chunk comes over a shortest path; nothing if `rounds`
// do not suffice, or when stopped. The same seed gives the same schedule. Requires
// QuotientInstance::is_separate, and at most 64 entries per rank.
std::optional<Schedule> grow_locally(const QuotientInstance&, int rounds, unsigned seed,
                                     const std::atomic<bool>* stop);

}  // namespace chorale
