// The best places for the axes of a job on a hierarchy, and how to reduce over them.
#pragma once

#include "cost/simulator.h"
#include "ir/place_options.h"
#include "placement/strategy_space.h"

namespace chorale {

// Every matrix is priced, in every order of axes inside of a level where that can matter, so the ranking is
// exact in the model of cost/simulator.h: a matrix costs the sum over the job's reductions of times * time of
// the cheapest strategy. Of a reduction over more than StrategySpace::kMostLevels levels, strategies treat
// neighbouring ones as one, in the way that is cheapest. Ties are broken by the matrix. The Where the job
// says what comes after what, its reductions run side by side, each by the strategy that is cheapest alone
// (placement/iteration.h), and the matrix costs what all of them together take. Where strategies are asked
// for over another hierarchy than the default, a matrix that has none there is left out
// (Ranking::without_strategy). The strategies that are returned were refereed, on the whole machine where it
// has at most kMostRefereedDevices devices (see refereed_fault). Throws InputError where the axes do not fit,
// where no matrix obeys the conditions.
Ranking rank_placements(const Hierarchy&, const Job&, const PlaceOptions&);

// One reduction under one matrix: options.strategies strategies, cheapest first; none where the hierarchy has
// none.
ReductionRanking rank_strategies(const Hierarchy&, const Job&, int reduction, const ParallelismMatrix&,
                                 const PlaceOptions&);

}  // namespace chorale
