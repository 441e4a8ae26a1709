// Checks what a result states of its searched space against its claims: that its points lie in it, which of
// them are on the frontier and proven, how far the others are from what the claims leave possible, what is
// open, and whether it is complete. Slow and obvious, one number of steps after the other, from
// docs/formats.md and docs/bounds.md; it shares no code with optimality.cpp, which computes the same for what
// the search found.
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/frontier.h"

namespace chorale {

// What is wrong ("points[3]: is not proven by the claims"). The claims are trusted.
std::vector<Fault> space_faults(const Result&);

}  // namespace chorale
