// Its price is found on the graph of states in which the others are found: from state to state along the edge
// whose groups and operation are the instruction's.
#include "placement/own_strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "placement/reduction_price.h"
#include "placement/synthesis_hierarchy.h"

namespace chorale {
namespace {

// Nothing if a level is not one of these; `missing` is then its name.
// Levels by name; of joined levels the name is "rack+node".
std::optional<Strategy> over_levels(const NamedStrategy& named, const std::vector<std::string>& levels,
                                    std::string& missing) {
  const auto level = [&](const std::string& name) {
    const auto at = std::ranges::find(levels, name);
    if (at == levels.end()) missing = name;
    return static_cast<int>(at - levels.begin());
  };
  Strategy strategy;
  for (const NamedInstruction& each : named) {
    StrategyInstruction instruction{
        .slice = level(each.slice), .form = each.form, .operation = each.operation};
    if (each.form != StrategyInstruction::Form::InsideGroup) instruction.ancestor = level(each.ancestor);
    if (!missing.empty()) return std::nullopt;
    strategy.push_back(instruction);
  }
  return strategy;
}

}  // namespace

OwnStrategy evaluated(const Hierarchy& hierarchy, const Job& job, int reduction,
                      const ParallelismMatrix& matrix, Algorithm algorithm, const NamedStrategy& named) {
  const Reduction& wanted = job.reductions[reduction];
  const std::vector<int> reduced = reduced_levels(matrix, wanted.axes);
  std::string fault;
  // The first cut under which all names exist is the one that is meant: names of different cuts differ.
  for (const std::vector<int>& cut : level_cuts(static_cast<int>(reduced.size()))) {
    const SynthesisHierarchy levels =
        joined(synthesis_hierarchy(hierarchy, job.axes, matrix, wanted.axes, SynthesisKind::Collapsed), cut);
    std::string missing;
    const std::optional<Strategy> strategy = over_levels(named, levels.names(), missing);
    if (!strategy) {
      fault = fmt::format("there is no level {} here, but {}", missing, fmt::join(levels.names(), ", "));
      continue;
    }
    for (std::size_t i = 0; i < strategy->size(); ++i)
      if (const StrategyInstruction& each = (*strategy)[i];
          each.form != StrategyInstruction::Form::InsideGroup && each.ancestor >= each.slice)
        return {.fault = fmt::format("instruction {}: {} is not outside of {}", i + 1, named[i].ancestor,
                                     named[i].slice)};
    if (const std::optional<Fault> refused = strategy_fault(levels.sizes(), *strategy))
      return {.fault = refused->words};
    const ReductionPrice price(hierarchy, matrix, wanted, algorithm, cut);
    OwnStrategy own;
    // Valid by the verifier, and so priced: an instruction without an edge does nothing, or leads to no sum.
    const std::vector<ChargedInstruction> steps = charged(*StrategySpace::of(price.levels()), *strategy);
    for (std::size_t i = 0; i < strategy->size(); ++i) {
      if (i == steps.size())
        return {.fault = fmt::format("instruction {} does nothing, or what cannot be completed", i + 1)};
      const StepTime time = price.time(steps[i].charge);
      if (!std::isfinite(time.us)) return {.fault = fmt::format("instruction {} cuts an element", i + 1)};
      own.priced.instructions.push_back(priced_at((*strategy)[i], time));
      own.priced.us += time.us;
    }
    own.levels = levels.names();
    return own;
  }
  // No cut has these levels; the fault is that of the last one.
  return {.fault = fault};
}

}  // namespace chorale
