// Two passes. All matrices are priced by the cheapest strategy of each reduction, of which only the sum is kept; then the
// best ones are done again in full, with their strategies refereed and lowered. To keep everything for every matrix
// would take memory for what nobody sees.
//
// The order in which axes vary inside of a level counts where neighbours there are not alike (rings, ways out that some share),
// so there all orders are tried. A reduction over more levels than the space has joins neighbouring ones in all ways.
//
// A matrix is cheap to price, since neither strategies nor groups are listed for it: a reduction is split
// over a few levels, the strategies over so many levels are a graph that is there already
// (placement/strategy_space.h), and a price is that of a box of groups, not of each group (cost/simulator.h).
#include "placement/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ir/error.h"
#include "placement/matrices.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

const char* name(Algorithm algorithm) {
  return algorithm == Algorithm::Ring ? "ring" : algorithm == Algorithm::Tree ? "tree" : "auto";
}

// Neighbouring levels that are treated as one, in every way that leaves few enough: lengths, outermost first.
std::vector<std::vector<int>> cuts(int levels) {
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

// The machine's levels that a reduction is split over, outermost first.
std::vector<int> reduced_levels(const ParallelismMatrix& matrix, const std::vector<int>& axes) {
  std::vector<int> result;
  for (int j = 0; j < static_cast<int>(matrix.factors.front().size()); ++j)
    if (std::any_of(axes.begin(), axes.end(), [&](int i) { return matrix.factors[i][j] > 1; }))
      result.push_back(j);
  return result;
}

// The reduction's levels and what everything in its strategy space costs on the machine. The space counts
// only levels that the reduction is split over, from the outermost in; `parts_` says which of the machine's
// each of them is, or joins.
class Pricing {
 public:
  Pricing(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction,
          Algorithm algorithm, const std::vector<int>& cut)
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

  int levels() const { return static_cast<int>(parts_.size()); }
  int size(int level) const {
    std::size_t product = 1;
    for (int j : parts_[level]) product *= splits_[j].members.size();
    return static_cast<int>(product);
  }

  // A charge has levels of size 2; true sizes come in here. At levels that the reduction does not join, all
  // groups do the same. Infinite where an element would be cut for no need.
  StepTime time(const Charge& charge) const {
    std::vector<bool> joined(splits_.size(), false);
    double size_of_groups = 1;
    for (int l = 0; l < levels(); ++l) {
      for (int j : parts_[l]) joined[j] = charge.joined[l];
      if (charge.joined[l]) size_of_groups *= size(l);
    }
    std::vector<GroupLoad> groups;
    for (const Charge::Part& part : charge.parts) {
      double bytes = bytes_;
      for (int l = 0; l < levels(); ++l) bytes *= std::pow(size(l), -part.scattered[l]);
      if (!padded_ && charge.operation == StrategyInstruction::Operation::ReduceScatter &&
          bytes < size_of_groups * element_)
        return {.us = std::numeric_limits<double>::infinity()};
      for (std::vector<Place>& places : boxes(part.places)) groups.push_back({std::move(places), bytes});
    }
    return simulator_.time(charge.operation, joined, groups, algorithm_);
  }

  // Of a single instruction over whole groups.
  StepTime single(StrategyInstruction::Operation operation) const {
    return time({.operation = operation,
                 .joined = std::vector<bool>(levels(), true),
                 .parts = {{std::vector<Place>(levels(), Place::All), std::vector<int>(levels(), 0)}}});
  }
  // Of what is done in one step: Goal::AllToAll, Goal::Shift.
  StepTime exchange(Goal goal) const {
    std::vector<bool> joined(splits_.size(), false);
    for (const std::vector<int>& part : parts_)
      for (int j : part) joined[j] = true;
    return simulator_.time(goal, joined, {{std::vector<Place>(splits_.size(), Place::All), bytes_}});
  }

 private:
  // Places by level of the space, as places by level of the machine. The rest of several levels is the rest of the first of
  // them, and at its first place the rest of the others.
  std::vector<std::vector<Place>> boxes(const std::vector<Place>& places) const {
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

  const std::vector<LevelSplit> splits_;
  const Simulator simulator_;
  const double bytes_, element_;
  const bool padded_;  // data are scattered in any case
  const Algorithm algorithm_;
  std::vector<std::vector<int>> parts_ = {};
};

// By charge. Each is priced once for all edges that have it; the search then only adds numbers.
std::vector<double> prices(const Pricing& pricing, const StrategySpace& space) {
  std::vector<double> result;
  for (const Charge& charge : space.charges()) result.push_back(pricing.time(charge).us);
  return result;
}

struct Cheapest {
  std::vector<int> cut = {};
  std::vector<PricedStrategy> strategies = {};
  double us() const { return strategies.front().price; }
};

// The `most` cheapest strategies of the cut that has the cheapest of all; of an AllGather those that scatter what it gathers,
// which take as long.
Cheapest cheapest(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction,
                  Algorithm algorithm, Rules rules, int most) {
  Cheapest best;
  for (std::vector<int>& cut : cuts(static_cast<int>(reduced_levels(matrix, reduction.axes).size()))) {
    const Pricing pricing(hierarchy, matrix, reduction, algorithm, cut);
    const auto space = StrategySpace::of(pricing.levels());
    Cheapest found{std::move(cut), reduction.goal == Goal::AllReduce
                                       ? cheapest_strategies(*space, prices(pricing, *space), rules, most)
                                       : cheapest_scatters(*space, prices(pricing, *space), most)};
    if (best.strategies.empty() || found.us() < best.us()) best = std::move(found);
  }
  return best;
}

bool is_exchange(Goal goal) {
  return goal == Goal::AllToAll || goal == Goal::Shift;
}

StepTime exchange(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction) {
  const std::vector<int> each(reduced_levels(matrix, reduction.axes).size(), 1);
  return Pricing(hierarchy, matrix, reduction, Algorithm::Auto, each).exchange(reduction.goal);
}

struct ChargedInstruction {
  StrategyInstruction instruction = {};
  Charge charge = {};
};

std::vector<ChargedInstruction> steps_of(const PricedStrategy& priced, const StrategySpace& space) {
  std::vector<ChargedInstruction> steps;
  for (std::size_t i = 0; i < priced.instructions.size(); ++i)
    steps.push_back({priced.instructions[i], space.charges()[priced.charges[i]]});
  return steps;
}

// Gathers what the ReduceScatters have scattered.
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

Strategy strategy_of(const std::vector<ChargedInstruction>& steps) {
  Strategy result;
  for (const ChargedInstruction& step : steps) result.push_back(step.instruction);
  return result;
}

// The least time of each reduction; only the sum is kept while matrices are compared.
double least_us(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                const PlaceOptions& options) {
  double sum = 0;
  for (const Reduction& reduction : job.reductions) {
    // Not split over anything: every device has its sum already.
    if (reduced_levels(matrix, reduction.axes).empty()) continue;
    sum += reduction.times *
           (is_exchange(reduction.goal)
                ? exchange(hierarchy, matrix, reduction).us
                : cheapest(hierarchy, matrix, reduction, options.algorithm, options.rules, 1).us());
  }
  return sum;
}

// Does it matter at which place of the level a child is?
bool knows_places(const Level& level) {
  const auto shared = [&](const std::optional<SharedPath>& path) {
    return path && path->children > 1 && path->children < level.fan_out;
  };
  return level.link.shape == LinkModel::Shape::Ring || shared(level.link.exit) || shared(level.link.detour);
}

// With all orders of the axes that a level is split by, where that matters; as numbered first.
std::vector<ParallelismMatrix> in_all_orders(const Hierarchy& hierarchy, const ParallelismMatrix& matrix) {
  std::vector<ParallelismMatrix> result = {matrix};
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    std::vector<int> split, whole;
    for (int i = 0; i < static_cast<int>(matrix.factors.size()); ++i)
      (matrix.factors[i][j] > 1 ? split : whole).push_back(i);
    if (split.size() < 2 || !knows_places(hierarchy.levels[j])) continue;
    std::vector<ParallelismMatrix> next;
    for (const ParallelismMatrix& one : result) {
      next.push_back(one);
      std::vector<int> order = split;
      while (std::next_permutation(order.begin(), order.end())) {
        next.push_back(one);
        if (next.back().orders.empty())
          for (std::size_t k = 0; k < hierarchy.levels.size(); ++k)
            next.back().orders.push_back(order_of(matrix, static_cast<int>(k)));
        next.back().orders[j] = order;
        next.back().orders[j].insert(next.back().orders[j].end(), whole.begin(), whole.end());
      }
    }
    result = std::move(next);
  }
  return result;
}

}  // namespace

std::vector<LevelSplit> level_splits(const Hierarchy& hierarchy, const ParallelismMatrix& matrix,
                                     const std::vector<int>& reduction_axes) {
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

std::optional<Fault> refereed_fault(const std::vector<int>& sizes, const Strategy& strategy) {
  // Every level that is larger than 1 stays so. From the outermost in, each gets its true size if there is
  // room.
  std::vector<int> small(sizes.size(), 1);
  long long devices = 1;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (sizes[l] > 1) devices *= small[l] = 2;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (devices / small[l] * sizes[l] <= kMostRefereedDevices) {
      devices = devices / small[l] * sizes[l];
      small[l] = sizes[l];
    }
  std::vector<int> all(devices);
  for (int d = 0; d < devices; ++d) all[d] = d;
  LoweredStrategy lowered;
  for (const StrategyInstruction& instruction : strategy)
    lowered.push_back({instruction.operation, groups_of(small, instruction)});
  return fault(static_cast<int>(devices), lowered, {all});
}

ReductionRanking rank_strategies(const Hierarchy& hierarchy, const Job& job, int reduction,
                                 const ParallelismMatrix& matrix, Algorithm algorithm, Rules rules,
                                 int most) {
  const Reduction& wanted = job.reductions[reduction];
  ReductionRanking ranking{.reduction = reduction, .levels = {"root"}, .sizes = {1}};
  if (reduced_levels(matrix, wanted.axes).empty()) return ranking;
  if (is_exchange(wanted.goal)) {
    const StepTime time = exchange(hierarchy, matrix, wanted);
    ranking.allreduce_us = time.us;
    ranking.exchange = PricedInstruction{{}, time.us, time.latency_us, time.binding, time.rings};
    return ranking;
  }
  const Cheapest found = cheapest(hierarchy, matrix, wanted, algorithm, rules, most);
  const Pricing pricing(hierarchy, matrix, wanted, algorithm, found.cut);
  const SynthesisHierarchy levels = joined(
      synthesis_hierarchy(hierarchy, job.axes, matrix, wanted.axes, SynthesisKind::Collapsed), found.cut);
  ranking.levels = levels.names();
  ranking.sizes = levels.sizes();
  const auto space = StrategySpace::of(pricing.levels());
  const bool sums = wanted.goal == Goal::AllReduce;
  ranking.allreduce_us = pricing
                             .single(sums ? StrategyInstruction::Operation::AllReduce
                                          : StrategyInstruction::Operation::ReduceScatter)
                             .us;
  if (sums) {
    const Count count =
        count_cheaper(*space, prices(pricing, *space), rules, kMostCounted, ranking.allreduce_us);
    ranking.programs = count.all;
    ranking.faster = count.cheaper;
  }
  for (const PricedStrategy& priced : found.strategies) {
    const std::vector<ChargedInstruction> steps = steps_of(priced, *space);
    RankedStrategy ranked{.us = priced.price};
    const std::vector<ChargedInstruction> shown = wanted.goal == Goal::AllGather ? backwards(steps) : steps;
    for (const ChargedInstruction& step : shown) {
      const StepTime time = pricing.time(step.charge);
      ranked.instructions.push_back({step.instruction, time.us, time.latency_us, time.binding, time.rings});
    }
    if (devices(hierarchy) <= kMostListedDevices) ranked.lowered = lower(levels, strategy_of(shown), matrix);
    // What scatters is right if all of it can be gathered again. Refereed twice: as a strategy over levels, and, where the
    // machine is small enough, as the groups that a user will run.
    std::vector<ChargedInstruction> whole = steps;
    if (!sums)
      for (ChargedInstruction& step : backwards(steps)) whole.push_back(std::move(step));
    std::optional<Fault> problem = refereed_fault(ranking.sizes, strategy_of(whole));
    if (!problem && devices(hierarchy) <= kMostRefereedDevices)
      problem = fault(static_cast<int>(devices(hierarchy)), lower(levels, strategy_of(whole), matrix),
                      reduction_groups(matrix, wanted.axes));
    if (problem) throw std::logic_error("a strategy is invalid: " + problem->words);
    ranking.strategies.push_back(std::move(ranked));
  }
  return ranking;
}

Ranking rank_placements(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  Ranking ranking{.hierarchy = hierarchy,
                  .job = job,
                  .algorithm = name(options.algorithm),
                  .rules = options.rules == Rules::Paper ? "paper" : "full"};
  bool proven = true;  // without a limit it is
  const std::vector<ParallelismMatrix> matrices =
      options.matrices_by_sat ? all_matrices_by_sat(hierarchy, job.axes, options.conditions, {}, proven)
                              : all_matrices(hierarchy, job.axes, options.conditions);
  if (matrices.empty())
    throw InputError("placement", "no parallelism matrix obeys the conditions", "drop one of them");
  ranking.matrices = static_cast<int>(matrices.size());
  if (options.ranked) options.ranked(ranking);  // before strategies over so many levels are explored
  struct Candidate {
    double us;
    int matrix;
    ParallelismMatrix ordered;
  };
  std::vector<Candidate> order;
  for (int m = 0; m < ranking.matrices; ++m) {
    if (options.progress && !options.progress(m, ranking.matrices)) break;
    ++ranking.priced;
    Candidate best{std::numeric_limits<double>::infinity(), m, {}};
    for (ParallelismMatrix& ordered : in_all_orders(hierarchy, matrices[m]))
      if (const double us = least_us(hierarchy, job, ordered, options);
          rounded_price(us) < rounded_price(best.us))
        best = {us, m, std::move(ordered)};
    order.push_back(std::move(best));
  }
  // Ties go by the number of the matrix, and matrices are sorted. Sums in another order are ties, too.
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(rounded_price(a.us), a.matrix) < std::pair(rounded_price(b.us), b.matrix);
  });
  order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(std::max(options.top, 1))));
  for (const auto& [us, m, matrix] : order) {
    RankedMatrix ranked{.matrix = matrix, .us = us};
    for (int r = 0; r < static_cast<int>(job.reductions.size()); ++r) {
      ranked.reductions.push_back(rank_strategies(hierarchy, job, r, matrix, options.algorithm, options.rules,
                                                  std::max(options.strategies, 1)));
      ranked.allreduce_us += job.reductions[r].times * ranked.reductions.back().allreduce_us;
    }
    ranking.best.push_back(std::move(ranked));
    if (options.ranked) options.ranked(ranking);
  }
  ranking.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return ranking;
}

}  // namespace chorale
