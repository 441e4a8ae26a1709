// From the strategy space, whose levels all have size 2, to the machine. A level of the space is one or
// more levels of the machine that the reduction is split over (the cut); sizes, positions and bytes are
// products over these.
#include "placement/reduction_price.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "placement/synthesis_hierarchy.h"

namespace chorale {

// Between names and charges: a strategy as people write it, and the edges of the graph of states
// (strategy_space.h), whose charges a machine prices.

namespace {

// The edge that does this, or none. There an instruction has one name, and others may have used another.
const StrategySpace::Edge* edge_for(const StrategySpace& space, int state,
                                    const StrategyInstruction& wanted) {
  // Names are compared by their groups at size 2, as the space compares them.
  std::vector<int> sizes(space.levels() + 1, 2);
  sizes[0] = 1;
  const DeviceGroups groups = groups_of(sizes, wanted);
  for (const StrategySpace::Edge& edge : space.edges(state))
    if (edge.instruction.operation == wanted.operation && groups_of(sizes, edge.instruction) == groups)
      return &edge;
  return nullptr;
}

}  // namespace

// Over the collapsed hierarchy everything that devices can do has a name; the other kinds leave out groupings
// that they cannot name.
std::shared_ptr<const StrategySpace> space_of(SynthesisKind synthesis, const ParallelismMatrix& matrix,
                                              const Reduction& reduction, const std::vector<int>& cut) {
  const int levels = static_cast<int>(cut.size());
  return synthesis == SynthesisKind::Collapsed
             ? StrategySpace::of(levels)
             : StrategySpace::of(levels, groupings_of_kind(synthesis, matrix, reduction.axes, cut));
}

std::vector<ChargedInstruction> steps_of(const PricedStrategy& priced, const StrategySpace& space) {
  std::vector<ChargedInstruction> steps;
  for (std::size_t i = 0; i < priced.instructions.size(); ++i)
    steps.push_back({priced.instructions[i], space.charges()[priced.charges[i]]});
  return steps;
}

// An AllGather begins with what its ReduceScatter has left: bytes before the ReduceScatter are bytes after
// the AllGather, so a level that it joined counts once more as scattered.
std::vector<ChargedInstruction> backwards(std::vector<ChargedInstruction> scatters) {
  std::reverse(scatters.begin(), scatters.end());
  for (ChargedInstruction& step : scatters) {
    step.instruction.operation = step.charge.operation = StrategyInstruction::Operation::AllGather;
    for (Charge::Part& part : step.charge.parts)
      for (std::size_t l = 0; l < part.scattered.size(); ++l)
        part.scattered[l] += step.charge.joined[l] ? 1 : 0;
  }
  return scatters;
}

// As far as there are edges. The caller decides what a shorter result means.
std::vector<ChargedInstruction> charged(const StrategySpace& space, const Strategy& strategy) {
  std::vector<ChargedInstruction> steps;
  int state = space.start();
  for (const StrategyInstruction& instruction : strategy) {
    const StrategySpace::Edge* const edge = edge_for(space, state, instruction);
    if (edge == nullptr) break;
    steps.push_back({instruction, space.charges()[edge->charge]});
    state = edge->to;
  }
  return steps;
}

Strategy strategy_of(const std::vector<ChargedInstruction>& steps) {
  Strategy result;
  for (const ChargedInstruction& step : steps) result.push_back(step.instruction);
  return result;
}

std::vector<int> reduced_levels(const ParallelismMatrix& matrix, const std::vector<int>& axes) {
  std::vector<int> result;
  for (int j = 0; j < static_cast<int>(matrix.factors.front().size()); ++j)
    if (std::any_of(axes.begin(), axes.end(), [&](int i) { return matrix.factors[i][j] > 1; }))
      result.push_back(j);
  return result;
}

StrategyInstruction::Operation single_operation(Goal goal) {
  return goal == Goal::AllReduce ? StrategyInstruction::Operation::AllReduce
                                 : StrategyInstruction::Operation::ReduceScatter;
}

PricedInstruction priced_at(const StrategyInstruction& instruction, const StepTime& time) {
  return {instruction, time.us, time.latency_us, time.binding, time.rings, time.pattern};
}

double least_us(const ReductionRanking& reduction) {
  if (reduction.exchange) return reduction.exchange->us;
  return reduction.strategies.empty() ? 0 : reduction.strategies.front().us;
}

std::vector<LevelSplit> level_splits(const Hierarchy& hierarchy, const ParallelismMatrix& matrix,
                                     const std::vector<int>& reduction_axes) {
  // [level]: `members` are positions that a group joins, `bases` those of its first member; every position is
  // one of each, added up. A level of 8 that is data 2 x tensor 4, reduced over data, has the members 0 and 4
  // and the bases 0 to 3.
  std::vector<LevelSplit> splits(hierarchy.levels.size());
  for (std::size_t j = 0; j < splits.size(); ++j) {
    // Inside of a level the axes are digits (placement/synthesis_hierarchy.cpp).
    int stride = hierarchy.levels[j].fan_out;
    for (int i : order_of(matrix, static_cast<int>(j))) {
      const int factor = matrix.factors[i][j];
      stride /= factor;
      const bool reduced = std::find(reduction_axes.begin(), reduction_axes.end(), i) != reduction_axes.end();
      std::vector<int>& positions = reduced ? splits[j].members : splits[j].bases;
      std::vector<int> next;
      for (int at : positions)
        for (int d = 0; d < factor; ++d) next.push_back(at + d * stride);
      positions = std::move(next);
    }
  }
  return splits;
}

// Compositions of `levels` into kMostLevels parts: 6 levels into 4 parts are 10 cuts.
std::vector<std::vector<int>> level_cuts(int levels) {
  if (levels <= StrategySpace::kMostLevels) return {std::vector<int>(static_cast<std::size_t>(levels), 1)};
  std::vector<std::vector<int>> result;
  std::vector<int> so_far;
  const auto go = [&](const auto& self, int left) -> void {
    const int parts = StrategySpace::kMostLevels - static_cast<int>(so_far.size());
    if (parts == 1) {
      result.push_back(so_far);
      result.back().push_back(left);
      return;
    }
    for (int length = 1; length <= left - (parts - 1); ++length) {
      so_far.push_back(length);
      self(self, left - length);
      so_far.pop_back();
    }
  };
  go(go, levels);
  return result;
}

ReductionPrice::ReductionPrice(const Hierarchy& hierarchy, const ParallelismMatrix& matrix,
                               const Reduction& reduction, Algorithm algorithm, const std::vector<int>& cut)
    : splits_(level_splits(hierarchy, matrix, reduction.axes)),
      simulator_(hierarchy, splits_),
      bytes_(reduction.bytes),
      element_(reduction.element_bytes),
      padded_(reduction.goal != Goal::AllReduce),
      algorithm_(algorithm) {
  const std::vector<int> reduced = reduced_levels(matrix, reduction.axes);
  auto level = reduced.begin();
  for (int length : cut) {
    parts_.emplace_back(level, level + length);
    level += length;
  }
}

int ReductionPrice::size(int level) const {
  std::size_t product = 1;
  for (int j : parts_[level]) product *= splits_[j].members.size();
  return static_cast<int>(product);
}

// By level of the machine; levels that the reduction is not split over are joined by nothing.
std::vector<bool> ReductionPrice::joined(const Charge& charge) const {
  std::vector<bool> result(splits_.size(), false);
  for (int l = 0; l < levels(); ++l)
    for (int j : parts_[l]) result[j] = charge.joined[l];
  return result;
}

// None where an element would be cut for no need.
// A ReduceScatter of fewer elements than devices would leave some without any; padding them is only priced
// where the goal is a scatter in any case.
std::vector<GroupLoad> ReductionPrice::groups(const Charge& charge) const {
  double size_of_groups = 1;
  for (int l = 0; l < levels(); ++l)
    if (charge.joined[l]) size_of_groups *= size(l);
  std::vector<GroupLoad> result;
  for (const Charge::Part& part : charge.parts) {
    // What a device holds: the data divided by the size of each level as often as it was scattered there.
    double bytes = bytes_;
    for (int l = 0; l < levels(); ++l) bytes *= std::pow(size(l), -part.scattered[l]);
    if (!padded_ && charge.operation == StrategyInstruction::Operation::ReduceScatter &&
        bytes < size_of_groups * element_)
      return {};
    for (std::vector<Place>& places : boxes(part.places)) result.push_back({std::move(places), bytes});
  }
  return result;
}

StepTime ReductionPrice::time(const Charge& charge) const {
  const std::vector<GroupLoad> loads = groups(charge);
  if (loads.empty()) return {.us = std::numeric_limits<double>::infinity()};
  return simulator_.time(charge.operation, joined(charge), loads, algorithm_);
}

StepLoad ReductionPrice::load(const Charge& charge) const {
  return simulator_.load(charge.operation, joined(charge), groups(charge), algorithm_);
}

Charge ReductionPrice::whole(StrategyInstruction::Operation operation) const {
  return {.operation = operation,
          .joined = std::vector<bool>(levels(), true),
          .parts = {{std::vector<Place>(levels(), Place::All), std::vector<int>(levels(), 0)}}};
}

StepTime ReductionPrice::exchange(Goal goal) const {
  const Charge all = whole({});
  return simulator_.time(goal, joined(all), groups(all));
}

StepLoad ReductionPrice::exchange_load(Goal goal) const {
  const Charge all = whole({});
  return simulator_.load(goal, joined(all), groups(all));
}

// Positions by level of the space, as positions by level of the machine. The rest of several levels is the
// rest of the first of them, and at its first position the rest of the others.
std::vector<std::vector<Place>> ReductionPrice::boxes(const std::vector<Place>& places) const {
  std::vector<std::vector<Place>> result = {std::vector<Place>(splits_.size(), Place::All)};
  for (int l = 0; l < levels(); ++l) {
    std::vector<std::vector<Place>> next;
    for (const std::vector<Place>& box : result) {
      const std::size_t ways = places[l] == Place::Rest ? parts_[l].size() : 1;
      for (std::size_t way = 0; way < ways; ++way) {
        next.push_back(box);
        for (std::size_t k = 0; k < parts_[l].size(); ++k)
          next.back()[parts_[l][k]] = places[l] != Place::Rest ? places[l]
                                      : k < way                ? Place::First
                                      : k == way               ? Place::Rest
                                                               : Place::All;
      }
    }
    result = std::move(next);
  }
  return result;
}

// Each reduction is one communication of one or more steps (cost/overlap.h): steps of a strategy one after
// the other, an exchange as one step. A reduction over axes that are not split anywhere moves nothing, and
// has no step.

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

// Its price is found on the graph of states in which the others are found: from state to state along the edge
// whose groups and operation are the instruction's.
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
