// The best placements of the axes of a job on a hierarchy, and the strategies that reduce over them.
#pragma once

#include "cost/simulator.h"
#include "ir/job_template.h"
#include "ir/place_options.h"
#include "placement/engines.h"
#include "placement/strategy_space.h"

namespace chorale {

// Every matrix is priced, in every order of axes inside of a level where that can matter, so the ranking is
// exact in the model of cost/simulator.h: a matrix costs the sum over the job's reductions of times * time of
// the cheapest strategy. For a reduction over more than StrategySpace::kMostLevels levels, strategies join
// neighbouring levels, in the cheapest combination. Ties are broken by the matrix. If the job states
// dependences, its reductions run side by side, each by the strategy that is cheapest alone
// (placement/reduction_price.h), and the matrix costs the time of all of them together. If strategies over
// another hierarchy than the default are requested, a matrix that has none there is left out
// (Ranking::without_strategy). The returned strategies are verified, on the whole machine if it has at most
// kMostVerifiedDevices devices (see strategy_fault). Throws InputError if the axes do not fit, or if no
// matrix obeys the conditions.
Ranking rank_placements(const Hierarchy&, const Job&, const PlaceOptions&);
// With the solver of options.engine, which keeps what it has found for the next ranking; null: enumeration.
Ranking rank_placements(const Hierarchy&, const Job&, const PlaceOptions&, StrategySolver*);

// One reduction under one matrix: options.strategies strategies, cheapest first, by enumeration; none where
// the hierarchy has none.
ReductionRanking rank_strategies(const Hierarchy&, const Job&, int reduction, const ParallelismMatrix&,
                                 const PlaceOptions&);

// The ranking of the job with the best sizes, by the time of computation plus communication of an iteration,
// one after the other. Ranking::sizes has the `top` best sizes; all that fit were placed and priced, unless
// options.progress ended it (its arguments count sizes, not matrices). A fixed size of the template stays.
// Throws InputError if no sizes multiply to the number of devices and obey all conditions, with the condition
// that forbids the last of them.
Ranking rank_sizes(const Hierarchy&, const JobTemplate&, const PlaceOptions&);

}  // namespace chorale
