// Each reduction is one communication of one or more steps (cost/overlap.h): steps of a strategy one after
// the other, an exchange as one step. A reduction over axes that are not split anywhere moves nothing, and
// has no step.
#include "placement/iteration.h"

#include <algorithm>
#include <utility>

#include "placement/reduction_price.h"

namespace chorale {

std::vector<ReductionSteps> undivided(const Hierarchy& hierarchy, const Job& job,
                                      const ParallelismMatrix& matrix, Algorithm algorithm,
                                      std::vector<ReductionSteps> doings) {
  // The cut stays: only the steps over it become one.
  for (std::size_t r = 0; r < doings.size(); ++r) {
    if (doings[r].cut.empty()) continue;
    const Reduction& reduction = job.reductions[r];
    const ReductionPrice price(hierarchy, matrix, reduction, algorithm, doings[r].cut);
    doings[r].steps = {{{}, price.whole(single_operation(reduction.goal))}};
  }
  return doings;
}

Iteration iteration(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                    Algorithm algorithm, const std::vector<ReductionSteps>& doings) {
  const std::vector<std::vector<int>> before = predecessors(job);
  std::vector<Communication> communications;
  for (std::size_t r = 0; r < job.reductions.size(); ++r) {
    const Reduction& reduction = job.reductions[r];
    Communication communication{.times = reduction.times, .after = before[r]};
    if (const std::size_t levels = reduced_levels(matrix, reduction.axes).size(); levels > 0) {
      // An exchange has no strategy and no cut: every level is one of its own.
      const bool exchange = reduction.goal == Goal::AllToAll || reduction.goal == Goal::Shift;
      const ReductionPrice price(hierarchy, matrix, reduction, algorithm,
                                 exchange ? std::vector<int>(levels, 1) : doings[r].cut);
      if (exchange) communication.steps.push_back(price.exchange_load(reduction.goal));
      for (const ChargedInstruction& step : doings[r].steps)
        communication.steps.push_back(price.load(step.charge));
    }
    communications.push_back(std::move(communication));
  }
  Iteration result{.spans = side_by_side(communications)};
  for (const TimeSpan& span : result.spans) result.us = std::max(result.us, span.to_us);
  return result;
}

}  // namespace chorale
