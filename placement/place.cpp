// Two passes. All matrices are priced by the cheapest strategy of each reduction, of which only the sum is kept; then the
// best ones are done again in full, with their strategies refereed and lowered. To keep everything for every matrix
// would take memory for what nobody sees.
//
// A matrix is cheap to price, since neither strategies nor groups are listed for it: a reduction is split
// over a few levels, the strategies over so many levels are a graph that is there already
// (placement/strategy_space.h), and a price is that of a box of groups, not of each group (cost/simulator.h).
#include "placement/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
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

// The reduction's levels and what everything in its strategy space costs on the machine. The space counts
// only levels that the reduction is split over, from the outermost in; `reduced_` says which of the machine's
// they are.
class Pricing {
 public:
  Pricing(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction,
          Algorithm algorithm)
      : splits_(level_splits(hierarchy, matrix, reduction.axes)),
        simulator_(hierarchy, splits_),
        bytes_(reduction.bytes),
        algorithm_(algorithm) {
    for (std::size_t j = 0; j < splits_.size(); ++j)
      if (splits_[j].members.size() > 1) reduced_.push_back(static_cast<int>(j));
  }

  int levels() const { return static_cast<int>(reduced_.size()); }
  const std::vector<int>& reduced() const { return reduced_; }
  int size(int level) const { return static_cast<int>(splits_[reduced_[level]].members.size()); }

  // A charge has levels of size 2; true sizes come in here. At levels that the reduction does not join, all
  // groups do the same.
  StepTime time(const Charge& charge) const {
    std::vector<bool> joined(splits_.size(), false);
    for (int l = 0; l < levels(); ++l) joined[reduced_[l]] = charge.joined[l];
    std::vector<GroupLoad> groups;
    for (const Charge::Part& part : charge.parts) {
      GroupLoad group{.places = std::vector<Place>(splits_.size(), Place::All), .bytes = bytes_};
      for (int l = 0; l < levels(); ++l) {
        group.places[reduced_[l]] = part.places[l];
        group.bytes *= std::pow(size(l), -part.scattered[l]);
      }
      groups.push_back(std::move(group));
    }
    return simulator_.time(charge.operation, joined, groups, algorithm_);
  }

  // Of a single AllReduce over whole groups.
  StepTime allreduce() const {
    return time({.operation = StrategyInstruction::Operation::AllReduce,
                 .joined = std::vector<bool>(levels(), true),
                 .parts = {{std::vector<Place>(levels(), Place::All), std::vector<int>(levels(), 0)}}});
  }

 private:
  const std::vector<LevelSplit> splits_;
  const Simulator simulator_;
  const double bytes_;
  const Algorithm algorithm_;
  std::vector<int> reduced_ = {};
};

// By charge. Each is priced once for all edges that have it; the search then only adds numbers.
std::vector<double> prices(const Pricing& pricing, const StrategySpace& space) {
  std::vector<double> result;
  for (const Charge& charge : space.charges()) result.push_back(pricing.time(charge).us);
  return result;
}

int split_levels(const ParallelismMatrix& matrix, const std::vector<int>& axes) {
  int levels = 0;
  for (std::size_t j = 0; j < matrix.factors.front().size(); ++j)
    levels += std::any_of(axes.begin(), axes.end(), [&](int i) { return matrix.factors[i][j] > 1; });
  return levels;
}

// One deep reduction is enough to leave a matrix unpriced: the sum would not be known.
bool searchable(const Job& job, const ParallelismMatrix& matrix) {
  return std::all_of(job.reductions.begin(), job.reductions.end(), [&](const Reduction& reduction) {
    return split_levels(matrix, reduction.axes) <= StrategySpace::kMostLevels;
  });
}

// The least time of each reduction; only the sum is kept while matrices are compared.
double least_us(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                const PlaceOptions& options) {
  double sum = 0;
  for (const Reduction& reduction : job.reductions) {
    const Pricing pricing(hierarchy, matrix, reduction, options.algorithm);
    // Not split over anything: every device has its sum already.
    if (pricing.levels() == 0) continue;
    const auto space = StrategySpace::of(pricing.levels());
    sum += reduction.times *
           cheapest_strategies(*space, prices(pricing, *space), options.rules, 1).front().price;
  }
  return sum;
}

}  // namespace

std::vector<LevelSplit> level_splits(const Hierarchy& hierarchy, const ParallelismMatrix& matrix,
                                     const std::vector<int>& reduction_axes) {
  std::vector<LevelSplit> splits(hierarchy.levels.size());
  for (std::size_t j = 0; j < splits.size(); ++j) {
    // Inside of a level the axes are digits, the first varying slowest (placement/synthesis_hierarchy.cpp).
    int stride = hierarchy.levels[j].fan_out;
    for (int i = 0; i < static_cast<int>(matrix.factors.size()); ++i) {
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
  const Pricing pricing(hierarchy, matrix, job.reductions[reduction], algorithm);
  ReductionRanking ranking{.reduction = reduction, .levels = {"root"}, .sizes = {1}};
  for (int l = 0; l < pricing.levels(); ++l) {
    ranking.levels.push_back(hierarchy.levels[pricing.reduced()[l]].name);
    ranking.sizes.push_back(pricing.size(l));
  }
  if (pricing.levels() == 0) return ranking;
  ranking.allreduce_us = pricing.allreduce().us;
  const auto space = StrategySpace::of(pricing.levels());
  for (const PricedStrategy& priced : cheapest_strategies(*space, prices(pricing, *space), rules, most)) {
    // Twice: as a strategy over levels, and, where the machine is small enough, as the groups that a user
    // will run.
    std::optional<Fault> problem = refereed_fault(ranking.sizes, priced.instructions);
    RankedStrategy ranked{.us = priced.price};
    for (std::size_t i = 0; i < priced.instructions.size(); ++i) {
      const StepTime step = pricing.time(space->charges()[priced.charges[i]]);
      ranked.instructions.push_back({priced.instructions[i], step.us, step.latency_us, step.binding});
    }
    if (devices(hierarchy) <= kMostListedDevices)
      ranked.lowered = lower(synthesis_hierarchy(hierarchy, job.axes, matrix, job.reductions[reduction].axes,
                                                 SynthesisKind::Collapsed),
                             priced.instructions, matrix);
    if (!problem && devices(hierarchy) <= kMostRefereedDevices)
      problem = fault(static_cast<int>(devices(hierarchy)), ranked.lowered,
                      reduction_groups(matrix, job.reductions[reduction].axes));
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
  std::vector<std::pair<double, int>> order;
  for (int m = 0; m < ranking.matrices; ++m) {
    if (options.progress && !options.progress(m, ranking.matrices)) break;
    if (!searchable(job, matrices[m])) {
      ++ranking.too_deep;
      continue;
    }
    ++ranking.priced;
    order.emplace_back(least_us(hierarchy, job, matrices[m], options), m);
  }
  if (ranking.too_deep == ranking.matrices)
    throw InputError("placement",
                     fmt::format("a reduction is split over more than {} levels", StrategySpace::kMostLevels),
                     "use a hierarchy of fewer levels");
  // Ties go by the number of the matrix, and matrices are sorted.
  std::sort(order.begin(), order.end());
  order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(std::max(options.top, 1))));
  for (const auto& [us, m] : order) {
    RankedMatrix ranked{.matrix = matrices[m], .us = us};
    for (int r = 0; r < static_cast<int>(job.reductions.size()); ++r) {
      ranked.reductions.push_back(rank_strategies(hierarchy, job, r, matrices[m], options.algorithm,
                                                  options.rules, std::max(options.strategies, 1)));
      ranked.allreduce_us += job.reductions[r].times * ranked.reductions.back().allreduce_us;
    }
    ranking.best.push_back(std::move(ranked));
    if (options.ranked) options.ranked(ranking);
  }
  ranking.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return ranking;
}

}  // namespace chorale
