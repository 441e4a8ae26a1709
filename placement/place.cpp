// Two passes. All matrices are priced by the cheapest strategy of each reduction, of which only the sum is
// kept; then the best ones are priced again in full, with their strategies verified and lowered. To keep
// everything for every matrix would take memory for results that are not shown.
//
// The order in which axes vary inside of a level counts where neighbours there are not alike (rings, shared
// uplinks), so there all orders are tried. A reduction over more levels than the space has joins neighbouring
// ones in every possible combination.
//
// A matrix is cheap to price, since neither strategies nor groups are listed for it: a reduction is split
// over a few levels, the strategies over that many levels are a graph that is there already
// (placement/strategy_space.h), and a price is that of a box of groups, not of each group (cost/simulator.h).
#include "placement/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ir/error.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "placement/matrices.h"
#include "placement/reduction_price.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

// By charge. Each is priced once for all edges that have it; the search then only adds numbers.
std::vector<double> prices(const ReductionPrice& pricing, const StrategySpace& space) {
  std::vector<double> result;
  for (const Charge& charge : space.charges()) result.push_back(pricing.time(charge).us);
  return result;
}

struct Cheapest {
  std::vector<int> cut = {};
  std::vector<PricedStrategy> strategies = {};  // none: the hierarchy has none
  double us() const {
    return strategies.empty() ? std::numeric_limits<double>::infinity() : strategies.front().price;
  }
};

// Of an AllReduce, over the levels of a cut: all that the solver has found, with charges on the space. None
// where the hierarchy can name no grouping.
std::vector<PricedStrategy> solved(StrategySolver& solver, const ParallelismMatrix& matrix,
                                   const Reduction& reduction, SynthesisKind synthesis,
                                   const std::vector<int>& cut, const StrategySpace& space) {
  if (synthesis == SynthesisKind::Collapsed) return solver.strategies(space, {});
  const auto groupings = groupings_of_kind(synthesis, matrix, reduction.axes, cut);
  return groupings.empty() ? std::vector<PricedStrategy>() : solver.strategies(space, groupings);
}

// The `most` cheapest strategies of the cut that has the cheapest of all; of an AllGather those that scatter
// what it gathers, which take as long. Those that scatter are few, and listed without a solver.
Cheapest cheapest(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction,
                  const PlaceOptions& options, StrategySolver* solver, int most) {
  Cheapest best;
  for (std::vector<int>& cut : level_cuts(static_cast<int>(reduced_levels(matrix, reduction.axes).size()))) {
    const ReductionPrice pricing(hierarchy, matrix, reduction, options.algorithm, cut);
    const auto space = space_of(options.synthesis, matrix, reduction, cut);
    const std::vector<double> by_charge = prices(pricing, *space);
    Cheapest found;
    if (reduction.goal != Goal::AllReduce)
      found.strategies = cheapest_scatters(*space, by_charge, most);
    else if (solver != nullptr)
      found.strategies =
          cheapest_of(solved(*solver, matrix, reduction, options.synthesis, cut, *space), by_charge, most);
    else
      found.strategies =
          cheapest_strategies(*space, by_charge, options.rules, most, options.most_instructions);
    found.cut = std::move(cut);
    if (best.cut.empty() || found.us() < best.us()) best = std::move(found);
  }
  return best;
}

bool is_exchange(Goal goal) {
  return goal == Goal::AllToAll || goal == Goal::Shift;
}

StepTime exchange(const Hierarchy& hierarchy, const ParallelismMatrix& matrix, const Reduction& reduction) {
  const std::vector<int> each(reduced_levels(matrix, reduction.axes).size(), 1);
  return ReductionPrice(hierarchy, matrix, reduction, Algorithm::Auto, each).exchange(reduction.goal);
}

// As the job is done by the cheapest strategy of each; none where one of them has none.
// Side by side each reduction runs as it would alone: strategies that yield links to each other would be a
// search of their own, and are not tried.
std::vector<ReductionSteps> cheapest_steps(const Hierarchy& hierarchy, const Job& job,
                                           const ParallelismMatrix& matrix, const PlaceOptions& options,
                                           StrategySolver* solver) {
  std::vector<ReductionSteps> result;
  for (const Reduction& reduction : job.reductions) {
    result.emplace_back();
    if (is_exchange(reduction.goal) || reduced_levels(matrix, reduction.axes).empty()) continue;
    // As many as will be listed, since of equal ones the first is another then.
    Cheapest found = cheapest(hierarchy, matrix, reduction, options, solver, std::max(options.strategies, 1));
    if (found.strategies.empty()) return {};
    const auto space = space_of(options.synthesis, matrix, reduction, found.cut);
    std::vector<ChargedInstruction> steps = steps_of(found.strategies.front(), *space);
    if (reduction.goal == Goal::AllGather) steps = backwards(std::move(steps));
    result.back() = {std::move(found.cut), std::move(steps)};
  }
  return result;
}

// Of reductions that run side by side: when each does, and what that makes of the sums.
// one_by_one_us is what the same strategies take in sequence, to show what overlapping brings.
void lay_side_by_side(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options,
                      StrategySolver* solver, RankedMatrix& ranked) {
  const std::vector<ReductionSteps> doings = cheapest_steps(hierarchy, job, ranked.matrix, options, solver);
  const Iteration all = iteration(hierarchy, job, ranked.matrix, options.algorithm, doings);
  for (std::size_t r = 0; r < job.reductions.size(); ++r) {
    ReductionRanking& reduction = ranked.reductions[r];
    ranked.one_by_one_us += job.reductions[r].times * least_us(reduction);
    reduction.from_us = all.spans[r].from_us;
    reduction.to_us = all.spans[r].to_us;
  }
  ranked.us = all.us;
  ranked.allreduce_us = iteration(hierarchy, job, ranked.matrix, options.algorithm,
                                  undivided(hierarchy, job, ranked.matrix, options.algorithm, doings))
                            .us;
}

// The least time of each reduction; only the sum is kept while matrices are compared.
double least_us(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                const PlaceOptions& options, StrategySolver* solver) {
  if (overlaps(job)) {
    const std::vector<ReductionSteps> doings = cheapest_steps(hierarchy, job, matrix, options, solver);
    return doings.empty() ? std::numeric_limits<double>::infinity()
                          : iteration(hierarchy, job, matrix, options.algorithm, doings).us;
  }
  double sum = 0;
  for (const Reduction& reduction : job.reductions) {
    // Not split over anything: every device has its sum already.
    if (reduced_levels(matrix, reduction.axes).empty()) continue;
    sum += reduction.times * (is_exchange(reduction.goal)
                                  ? exchange(hierarchy, matrix, reduction).us
                                  : cheapest(hierarchy, matrix, reduction, options, solver, 1).us());
  }
  return sum;
}

// Does the position of a child in the level matter?
// On a switch without shared paths all children are alike, and the order of axes there changes nothing.
bool knows_places(const Level& level) {
  const auto shared = [&](const std::optional<SharedPath>& path) {
    return path && path->children > 1 && path->children < level.fan_out;
  };
  return level.link.shape == LinkModel::Shape::Ring || shared(level.link.exit) || shared(level.link.detour);
}

ReductionRanking rank_reduction(const Hierarchy& hierarchy, const Job& job, int reduction,
                                const ParallelismMatrix& matrix, const PlaceOptions& options,
                                StrategySolver* solver) {
  const Reduction& wanted = job.reductions[reduction];
  ReductionRanking ranking{.reduction = reduction, .levels = {"root"}, .sizes = {1}};
  if (reduced_levels(matrix, wanted.axes).empty()) return ranking;
  if (is_exchange(wanted.goal)) {
    const StepTime time = exchange(hierarchy, matrix, wanted);
    ranking.allreduce_us = time.us;
    ranking.exchange = priced_at({}, time);
    return ranking;
  }
  const Cheapest found =
      cheapest(hierarchy, matrix, wanted, options, solver, std::max(options.strategies, 1));
  const ReductionPrice pricing(hierarchy, matrix, wanted, options.algorithm, found.cut);
  const SynthesisHierarchy levels = joined(
      synthesis_hierarchy(hierarchy, job.axes, matrix, wanted.axes, SynthesisKind::Collapsed), found.cut);
  ranking.levels = levels.names();
  ranking.sizes = levels.sizes();
  const auto space = space_of(options.synthesis, matrix, wanted, found.cut);
  const bool sums = wanted.goal == Goal::AllReduce;
  ranking.allreduce_us = pricing.time(pricing.whole(single_operation(wanted.goal))).us;
  for (std::size_t k = 0; sums && k < std::size(kSynthesisChoices); ++k) {
    const auto over = space_of(kSynthesisChoices[k].value, matrix, wanted, found.cut);
    const bool asked = kSynthesisChoices[k].value == options.synthesis;
    // Of the kind that was asked for, those that were found.
    const Count count =
        solver != nullptr && asked
            ? count_cheaper(solved(*solver, matrix, wanted, options.synthesis, found.cut, *over),
                            prices(pricing, *over), ranking.allreduce_us)
            : count_cheaper(*over, prices(pricing, *over), options.rules, kMostCounted, ranking.allreduce_us);
    ranking.programs_over[k] = count.all;
    if (!asked) continue;
    ranking.programs = count.all;
    ranking.faster = count.cheaper;
  }
  for (const PricedStrategy& priced : found.strategies) {
    const std::vector<ChargedInstruction> steps = steps_of(priced, *space);
    RankedStrategy ranked{.us = priced.price};
    const std::vector<ChargedInstruction> shown = wanted.goal == Goal::AllGather ? backwards(steps) : steps;
    for (const ChargedInstruction& step : shown)
      ranked.instructions.push_back(priced_at(step.instruction, pricing.time(step.charge)));
    if (devices(hierarchy) <= kMostListedDevices) ranked.lowered = lower(levels, strategy_of(shown), matrix);
    // A strategy that scatters is valid if all of it can be gathered again. It is verified twice: as a
    // strategy over levels, and, if the machine is small enough, as the groups that a user will run.
    std::vector<ChargedInstruction> whole = steps;
    if (!sums)
      for (ChargedInstruction& step : backwards(steps)) whole.push_back(std::move(step));
    std::optional<Fault> problem = strategy_fault(ranking.sizes, strategy_of(whole));
    if (!problem && devices(hierarchy) <= kMostVerifiedDevices)
      problem = fault(static_cast<int>(devices(hierarchy)), lower(levels, strategy_of(whole), matrix),
                      reduction_groups(matrix, wanted.axes));
    if (problem) throw std::logic_error("a strategy is invalid: " + problem->words);
    ranking.strategies.push_back(std::move(ranked));
  }
  return ranking;
}

// With its strategies, and what it takes in all.
RankedMatrix in_full(const Hierarchy& hierarchy, const Job& job, const ParallelismMatrix& matrix,
                     const PlaceOptions& options, StrategySolver* solver) {
  RankedMatrix ranked{.matrix = matrix};
  for (int r = 0; r < static_cast<int>(job.reductions.size()); ++r) {
    ranked.reductions.push_back(rank_reduction(hierarchy, job, r, matrix, options, solver));
    const ReductionRanking& reduction = ranked.reductions.back();
    ranked.allreduce_us += job.reductions[r].times * reduction.allreduce_us;
    ranked.us += job.reductions[r].times * least_us(reduction);
    if (!options.own.empty() && job.reductions[r].goal == Goal::AllReduce &&
        !reduced_levels(matrix, job.reductions[r].axes).empty())
      ranked.reductions.back().own = evaluated(hierarchy, job, r, matrix, options.algorithm, options.own);
  }
  if (overlaps(job)) lay_side_by_side(hierarchy, job, options, solver, ranked);
  return ranked;
}

}  // namespace

ReductionRanking rank_strategies(const Hierarchy& hierarchy, const Job& job, int reduction,
                                 const ParallelismMatrix& matrix, const PlaceOptions& options) {
  return rank_reduction(hierarchy, job, reduction, matrix, options, nullptr);
}

Ranking rank_placements(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options) {
  if (options.engine == PlaceEngine::Enumerate) return rank_placements(hierarchy, job, options, nullptr);
  StrategySolver solver(options);
  return rank_placements(hierarchy, job, options, &solver);
}

Ranking rank_placements(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options,
                        StrategySolver* solver) {
  const auto started = std::chrono::steady_clock::now();
  Ranking ranking{.hierarchy = hierarchy,
                  .job = job,
                  .algorithm = name_in(algorithms(), options.algorithm),
                  .rules = name_in(strategy_rules(), options.rules),
                  .synthesis = name_of(options.synthesis),
                  .engine = name_in(place_engines(), options.engine),
                  .conditions = options.conditions};
  const std::vector<ParallelismMatrix> matrices =
      solver != nullptr ? solver->matrices(hierarchy, job.axes, options.conditions)
                        : all_matrices(hierarchy, job.axes, options.conditions);
  const auto report = [&] {
    if (solver == nullptr) return;
    ranking.solver = solver->report();
    // Strategies that were not asked for yet are neither found nor refuted.
    const bool priced = ranking.priced == ranking.matrices;
    ranking.solver->complete = ranking.solver->complete && priced;
    ranking.solver->nothing_longer = ranking.solver->nothing_longer && priced;
  };
  const auto is_cut_short = [&] { return solver != nullptr && !solver->report().complete; };
  if (matrices.empty() && !is_cut_short())
    throw InputError("placement", "no parallelism matrix obeys the conditions", "drop one of them");
  ranking.matrices = static_cast<int>(matrices.size());
  report();
  if (options.ranked) options.ranked(ranking);  // before strategies over that many levels are explored
  struct Candidate {
    double us;
    int matrix;
    ParallelismMatrix ordered;
  };
  std::vector<bool> orders_matter;  // by level
  for (const Level& level : hierarchy.levels) orders_matter.push_back(knows_places(level));
  std::vector<Candidate> order;
  for (int m = 0; m < ranking.matrices; ++m) {
    if (options.progress && !options.progress(m, ranking.matrices)) break;
    Candidate best{std::numeric_limits<double>::infinity(), m, {}};
    for (ParallelismMatrix& ordered :
         options.given_order ? std::vector{matrices[m]} : in_all_orders(matrices[m], orders_matter))
      if (const double us = least_us(hierarchy, job, ordered, options, solver);
          rounded_price(us) < rounded_price(best.us))
        best = {us, m, std::move(ordered)};
    // The solver had no time to find the first strategy: there may be one.
    if (!std::isfinite(best.us) && is_cut_short()) break;
    ++ranking.priced;
    if (std::isfinite(best.us))
      order.push_back(std::move(best));
    else
      ++ranking.without_strategy;
  }
  // Ties go by the number of the matrix, and matrices are sorted. Sums in another order are ties, too.
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(rounded_price(a.us), a.matrix) < std::pair(rounded_price(b.us), b.matrix);
  });
  order.resize(std::min<std::size_t>(order.size(), static_cast<std::size_t>(std::max(options.top, 1))));
  report();
  if (options.present) ranking.present = in_full(hierarchy, job, *options.present, options, solver);
  for (const Candidate& each : order) {
    ranking.best.push_back(in_full(hierarchy, job, each.ordered, options, solver));
    ranking.best.back().us = overlaps(job) ? ranking.best.back().us : each.us;
    if (options.ranked) options.ranked(ranking);
  }
  report();
  ranking.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return ranking;
}

// Every factorization of the devices over the open axes is a job of its own, with its memory and
// computation by the template's formulas (ir/job_template.h). Those that do not fit are sorted out first,
// without placing; each other one is a whole ranking of placements, of which the time of the best counts.
//
// There are few of them: 512 devices over 4 axes have 220 factorizations.
namespace {

// All sizes of the axes from `axis` on that multiply to `left`, smaller ones of earlier axes first.
void add_sizes(const JobTemplate& job, std::size_t axis, long long left, std::vector<int>& sizes,
               std::vector<std::vector<int>>& result) {
  if (axis == job.axes.size()) {
    if (left == 1) result.push_back(sizes);
    return;
  }
  const OpenAxis& open = job.axes[axis];
  for (long long size = 1; size <= std::min<long long>(left, open.most); ++size)
    if (left % size == 0 && (open.size == 0 || open.size == size)) {
      sizes.push_back(static_cast<int>(size));
      add_sizes(job, axis + 1, left / size, sizes, result);
      sizes.pop_back();
    }
}

struct Candidate {
  RankedSizes sizes = {};
  Job job = {};
};

}  // namespace

Ranking rank_sizes(const Hierarchy& hierarchy, const JobTemplate& job, const PlaceOptions& options) {
  // Three passes over the same list: sizes that multiply to the devices, of these the ones that fit, of these
  // the time. Sizes are never compared without a placement: the one with the least computation may need most
  // communication.
  const auto started = std::chrono::steady_clock::now();
  const long long all = devices(hierarchy);
  std::vector<std::vector<int>> products;
  std::vector<int> none;
  add_sizes(job, 0, all, none, products);
  if (products.empty())
    throw InputError("axes of " + shown(job.name), fmt::format("no sizes multiply to {} devices", all),
                     "leave more of them open, or allow larger ones");
  std::vector<Candidate> candidates;
  std::string unfit;
  for (const std::vector<int>& sizes : products) {
    SizedJob one = sized(job, sizes);
    if (one.unfit.empty() && all_matrices(hierarchy, one.job.axes, options.conditions).empty())
      one.unfit = "no parallelism matrix obeys the conditions";
    if (one.unfit.empty())
      candidates.push_back({{sizes, one.memory_bytes, one.compute_us}, std::move(one.job)});
    else
      unfit = one.unfit;
  }
  if (candidates.empty())
    throw InputError(
        "axes of " + shown(job.name),
        fmt::format("none of {} will do; of the last, {}",
                    counted(static_cast<long long>(products.size()), "choice of sizes", "choices of sizes"),
                    unfit),
        "take more devices, or other conditions");
  // What computes least first: if time runs out, these were seen.
  std::ranges::stable_sort(candidates, {}, [](const Candidate& each) { return each.sizes.compute_us; });

  StrategySolver solver(options);  // of all choices: many have the same strategies
  Ranking best;
  double least = 0;
  std::vector<RankedSizes> ranked;
  int done = 0;
  const int of = static_cast<int>(candidates.size());
  // The answer so far, so that a search that is interrupted has one: the best `top` of what was placed.
  const auto told = [&] {
    std::vector<RankedSizes> sorted = ranked;
    std::ranges::stable_sort(sorted, {}, &RankedSizes::us);
    sorted.resize(std::min<std::size_t>(sorted.size(), static_cast<std::size_t>(std::max(options.top, 1))));
    best.sizes = std::move(sorted);
    best.size_choices = {static_cast<int>(products.size()), of, done};
    best.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (options.ranked) options.ranked(best);
  };
  for (Candidate& candidate : candidates) {
    if (options.progress && !options.progress(done, of)) break;
    PlaceOptions inner = options;
    // The caller sees sizes and not matrices, so the counts of the inner ranking stay inside.
    inner.ranked = {};
    inner.progress = [&](int, int) { return !options.progress || options.progress(done, of); };
    Ranking placed = rank_placements(hierarchy, candidate.job, inner,
                                     options.engine == PlaceEngine::Enumerate ? nullptr : &solver);
    // A ranking that was cut short may lack its best placement, so these sizes have no time.
    if (placed.priced < placed.matrices) break;  // stopped
    ++done;
    if (placed.best.empty()) {  // over the hierarchy that was asked for these sizes have no strategy
      if (ranked.empty()) best = std::move(placed);
      continue;
    }
    candidate.sizes.communication_us = placed.best.front().us;
    const double us = candidate.sizes.us();
    ranked.push_back(candidate.sizes);
    if (ranked.size() == 1 || us < least) {
      least = us;
      best = std::move(placed);
    }
    told();
  }
  if (ranked.empty()) {
    best.hierarchy = hierarchy;
    if (done == 0) best.job = candidates.front().job;
    told();
  }
  return best;
}

}  // namespace chorale
