// Schedules without a solver, for machines where the formula is large: fill each step by the best next sends.
//
// The idea that makes it meet bounds: a cut that bounds the collective from below may be crossed only once by
// each chunk. The prices of a cut certificate name that cut (the ranks that reach its destination for free),
// automorphisms carry it to its images, and a send that enters such a block comes first and only if no rank
// of the block has the chunk. Rounds are split over the steps geometrically, since what arrives last must
// still be spread inside its block. Steps are filled orbit by orbit under the given group (free subgroups
// give the same load everywhere). Compare TACOS (Won et al.).
#pragma once

#include <optional>
#include <vector>

#include "ir/frontier.h"
#include "ir/instance.h"
#include "ir/schedule.h"
#include "symmetry/automorphisms.h"

namespace chorale {

// A schedule within the budget, or nothing found (which proves nothing). Requires a flattened topology and a
// collective that does not combine. Nothing is searched under generators of too large a group, or of one that
// does not preserve the collective. `bound` may be any claim; it is used if it has Weights. The first
// kGeometricTries split the rounds geometrically, the others at random; all with fixed seeds.
inline constexpr int kGeometricTries = 7;
std::optional<Schedule> greedy_schedule(const Topology&, const Collective&, const Budget&,
                                        const std::vector<Automorphism>& generators, const Claim& bound,
                                        int tries);

}  // namespace chorale
