#include "placement/iteration.h"

#include <algorithm>
#include <utility>

#include "placement/reduction_price.h"

namespace chorale {

Iteration iteration(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                    Algorithm algorithm, const std::vector<ReductionSteps>& doings) {
  const std::vector<std::vector<int>> before = predecessors(job);
  std::vector<Communication> communications;
  for (std::size_t r = 0; r < job.reductions.size(); ++r) {
    const Reduction& reduction = job.reductions[r];
    Communication communication{.times = reduction.times, .after = before[r]};
    if (const std::size_t levels = reduced_levels(matrix, reduction.axes).size(); levels > 0) {
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
