// The verifier and the simulator decide; numbers of a file may differ in the last digits, since other
// computers round differently.
#include "placement/check_ranking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "ir/words.h"
#include "placement/matrices.h"
#include "placement/place.h"
#include "placement/reduction_price.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

// Relative, and far above what sums in another order differ by.
bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

bool same(const PricedInstruction& a, const StepTime& b) {
  return same(a.us, b.us) && same(a.latency_us, b.latency_us) && a.binding == b.binding &&
         a.rings == b.rings && (a.pattern.empty() || a.pattern == b.pattern);
}

// The options by which the ranking states that it was made. The reader of files refuses words that are none.
PlaceOptions options_of(const Ranking& ranking) {
  return {
      .algorithm = value_in(algorithms(), ranking.algorithm).value_or(Algorithm::Auto),
      .rules = value_in(strategy_rules(), ranking.rules).value_or(Rules::Full),
      .synthesis =
          value_in<SynthesisKind>(kSynthesisChoices, ranking.synthesis).value_or(SynthesisKind::Collapsed),
      .conditions = ranking.conditions,
      // Enumeration checks what a solver has found: the cheapest of as many instructions.
      .most_instructions = ranking.engine == name_in(place_engines(), PlaceEngine::Enumerate)
                               ? PlaceOptions().most_instructions
                               : kMostCounted};
}

// A limit ended the solver's work: there may be cheaper strategies, and more of them, than it has found.
bool is_cut_short(const Ranking& ranking) {
  return ranking.solver && !ranking.solver->complete;
}

// Checks one placement. Faults are collected with the name of the placement and the reduction that they are
// in (place_), and checking goes on with the next, so that one report has all of them.
class Placement {
 public:
  // `conditioned`: it has to obey the conditions of the ranking.
  Placement(const Ranking& ranking, const RankedMatrix& ranked, std::string name, bool conditioned,
            RankingReport& report)
      : ranking_(ranking),
        ranked_(ranked),
        name_(std::move(name)),
        conditioned_(conditioned),
        report_(report),
        options_(options_of(ranking)) {}

  void check() {
    ++report_.placements;
    if (!fits()) return;
    double us = 0, allreduce_us = 0;
    const std::size_t faults = report_.faults.size();
    doings_.resize(ranking_.job.reductions.size());
    for (const ReductionRanking& reduction : ranked_.reductions) {
      place_ = ranking_.job.reductions[reduction.reduction].name;
      if (place_.empty()) place_ = "the reduction";
      check(reduction);
      const double times = ranking_.job.reductions[reduction.reduction].times;
      allreduce_us += times * reduction.allreduce_us;
      us += times * least_us(reduction);
    }
    place_ = {};
    if (overlaps(ranking_.job)) {
      if (!same(us, ranked_.one_by_one_us))
        refuse("takes {} us one by one, not {}", us, ranked_.one_by_one_us);
      // What each takes alone is known to be true by now, and what all of them do.
      if (faults == report_.faults.size()) check_spans();
      return;
    }
    if (!same(us, ranked_.us)) refuse("takes {} us by its strategies, not {}", us, ranked_.us);
    if (!same(allreduce_us, ranked_.allreduce_us))
      refuse("takes {} us as a single collective, not {}", allreduce_us, ranked_.allreduce_us);
  }

 private:
  template <typename... Arguments>
  void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    report_.faults.push_back(
        {.kind = Fault::Kind::Claim,
         .words = fmt::format("placement {}{}{}: {}", name_, place_.empty() ? "" : ", ", place_,
                              fmt::format(text, std::forward<Arguments>(arguments)...))});
  }

  // Products are cut off at 2^40, since factors of a file may be anything.
  bool fits() {
    const std::vector<std::vector<int>>& factors = ranked_.matrix.factors;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      long long product = 1;
      for (int factor : factors[i]) product = std::min(product * factor, 1LL << 40);
      if (product != ranking_.job.axes[i].size)
        return refuse("its factors of {} multiply to {}, not {}", ranking_.job.axes[i].name, product,
                      ranking_.job.axes[i].size),
               false;
    }
    for (std::size_t j = 0; j < ranking_.hierarchy.levels.size(); ++j) {
      long long product = 1;
      for (const std::vector<int>& row : factors) product = std::min(product * row[j], 1LL << 40);
      const Level& level = ranking_.hierarchy.levels[j];
      if (product != level.fan_out)
        return refuse("its factors at {} multiply to {}, not {}", level.name, product, level.fan_out), false;
    }
    if (conditioned_ && !obeys(ranked_.matrix, ranking_.conditions))
      return refuse("does not obey the conditions"), false;
    return true;
  }

  // Side by side. The iteration is simulated again from the steps that were verified before, once with the
  // strategies and once with a single instruction in place of each.
  void check_spans() {
    const Iteration all =
        iteration(ranking_.hierarchy, ranking_.job, ranked_.matrix, options_.algorithm, doings_);
    for (std::size_t r = 0; r < doings_.size(); ++r) {
      const ReductionRanking& reduction = ranked_.reductions[r];
      if (!same(reduction.from_us, all.spans[r].from_us) || !same(reduction.to_us, all.spans[r].to_us))
        refuse("reduction {} runs from {} to {} us, not from {} to {}", r + 1, all.spans[r].from_us,
               all.spans[r].to_us, reduction.from_us, reduction.to_us);
    }
    if (!same(all.us, ranked_.us)) refuse("takes {} us side by side, not {}", all.us, ranked_.us);
    const double whole =
        iteration(ranking_.hierarchy, ranking_.job, ranked_.matrix, options_.algorithm,
                  undivided(ranking_.hierarchy, ranking_.job, ranked_.matrix, options_.algorithm, doings_))
            .us;
    if (!same(whole, ranked_.allreduce_us))
      refuse("takes {} us as a single collective, not {}", whole, ranked_.allreduce_us);
  }

  // How neighbouring levels are joined so that these names and sizes come out.
  // A file names levels ("rack+node") and not cuts; few cuts exist, and all are tried.
  std::optional<std::vector<int>> cut_of(const ReductionRanking& reduction,
                                         const SynthesisHierarchy& whole) const {
    for (const std::vector<int>& cut : level_cuts(static_cast<int>(whole.levels.size()) - 1))
      if (const SynthesisHierarchy levels = joined(whole, cut);
          levels.names() == reduction.levels && levels.sizes() == reduction.sizes)
        return cut;
    return std::nullopt;
  }

  // Prices are computed again by rank_strategies(), with as many strategies as the file lists. Its numbers
  // are compared and never copied: what the file states and the truth does not have is a fault too.
  void check(const ReductionRanking& reduction) {
    const Reduction& wanted = ranking_.job.reductions[reduction.reduction];
    PlaceOptions options = options_;
    options.strategies = std::max<int>(1, static_cast<int>(reduction.strategies.size()));
    const bool whole = !is_cut_short(ranking_);
    const ReductionRanking truth =
        rank_strategies(ranking_.hierarchy, ranking_.job, reduction.reduction, ranked_.matrix, options);
    if (!same(reduction.allreduce_us, truth.allreduce_us))
      return refuse("a single instruction takes {} us, not {}", truth.allreduce_us, reduction.allreduce_us);
    if (reduction.exchange.has_value() != truth.exchange.has_value() ||
        (truth.exchange &&
         !same(*reduction.exchange, {truth.exchange->us, truth.exchange->latency_us, truth.exchange->binding,
                                     reduction.exchange->rings, truth.exchange->pattern})))
      return refuse("is not the one step that it states");
    if (truth.strategies.empty() != reduction.strategies.empty())
      return refuse("{}",
                    truth.strategies.empty() ? "has strategies where there are none" : "has no strategy");
    if (truth.strategies.empty()) {
      ReductionRanking stated = reduction;
      stated.allreduce_us = truth.allreduce_us;  // these are compared as numbers that were rounded
      stated.exchange = truth.exchange;
      stated.from_us = truth.from_us;
      stated.to_us = truth.to_us;
      if (stated != truth) refuse("states more than that it has no strategy");
      return;
    }
    const SynthesisHierarchy all_levels = synthesis_hierarchy(
        ranking_.hierarchy, ranking_.job.axes, ranked_.matrix, wanted.axes, SynthesisKind::Collapsed);
    // Strategies of one reduction are over one cut, which its levels name.
    const std::optional<std::vector<int>> cut = cut_of(reduction, all_levels);
    if (!cut)
      return refuse("is split over {}, not over the levels that it names",
                    fmt::join(all_levels.names(), ", "));
    // Listed strategies are distinct, valid and priced right, and each takes as long as the one that is
    // computed at its place: so none that is cheaper is missing.
    std::set<Strategy> seen;
    for (std::size_t s = 0; s < reduction.strategies.size(); ++s) {
      const std::string before = place_;
      place_ += fmt::format(", strategy {}", s + 1);
      const std::size_t faults = report_.faults.size();
      check(reduction.strategies[s], wanted, joined(all_levels, *cut), *cut);
      if (!seen.insert(reduction.strategies[s].strategy()).second) refuse("is there twice");
      if (whole && faults == report_.faults.size() &&
          (s >= truth.strategies.size() || !same(reduction.strategies[s].us, truth.strategies[s].us)))
        refuse("takes {} us, where one of {} us is the next cheapest", reduction.strategies[s].us,
               s < truth.strategies.size() ? truth.strategies[s].us : 0);
      place_ = before;
    }
    if (whole ? std::tuple(reduction.programs, reduction.faster, reduction.programs_over) !=
                    std::tuple(truth.programs, truth.faster, truth.programs_over)
              : reduction.programs > truth.programs || reduction.faster > truth.faster)
      refuse("there are {} of at most {} instructions, {} faster than one AllReduce",
             counted(truth.programs, "strategy", "strategies"), kMostCounted, truth.faster);
    check_own(reduction);
  }

  // From the names alone: valid over its levels at the machine's sizes, its groups those of the names, and
  // each instruction priced by its charge.
  void check(const RankedStrategy& listed, const Reduction& wanted, const SynthesisHierarchy& levels,
             const std::vector<int>& cut) {
    ++report_.strategies;
    const bool sums = wanted.goal == Goal::AllReduce, gathers = wanted.goal == Goal::AllGather;
    // What gathers is priced as what it gathers was scattered.
    Strategy written = listed.strategy();
    if (gathers) {
      std::ranges::reverse(written);
      for (StrategyInstruction& each : written) {
        if (each.operation != StrategyInstruction::Operation::AllGather)
          return refuse("does not only gather");
        each.operation = StrategyInstruction::Operation::ReduceScatter;
      }
    }
    const auto space = space_of(options_.synthesis, ranked_.matrix, wanted, cut);
    std::vector<ChargedInstruction> steps = charged(*space, written);
    if (steps.size() < written.size()) {
      if (const std::optional<Fault> fault = strategy_fault(levels.sizes(), written))
        return refuse("{}", fault->words);
      return refuse("instruction {} is none of the hierarchy '{}'", steps.size() + 1, ranking_.synthesis);
    }
    std::vector<ChargedInstruction> round = steps;
    if (!sums)
      for (ChargedInstruction& step : backwards(steps)) round.push_back(std::move(step));
    if (const std::optional<Fault> fault = strategy_fault(levels.sizes(), strategy_of(round)))
      return refuse("{}", fault->words);
    if (gathers) steps = backwards(std::move(steps));
    const bool scatters_only = std::ranges::all_of(steps, [](const ChargedInstruction& step) {
      return step.instruction.operation == StrategyInstruction::Operation::ReduceScatter;
    });
    if (wanted.goal == Goal::ReduceScatter && !scatters_only) return refuse("does not only scatter");
    if (devices(ranking_.hierarchy) <= kMostListedDevices &&
        listed.lowered != lower(levels, listed.strategy(), ranked_.matrix))
      return refuse("lists other groups than its instructions mean");
    const ReductionPrice price(ranking_.hierarchy, ranked_.matrix, wanted, options_.algorithm, cut);
    double us = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const StepTime time = price.time(steps[i].charge);
      us += time.us;
      if (!same(listed.instructions[i], time))
        return refuse(
            "instruction {} takes {} us (latency {}, by {}, {} at once), not {} (latency {}, by {}, {})",
            i + 1, time.us, time.latency_us, time.binding, time.rings, listed.instructions[i].us,
            listed.instructions[i].latency_us, listed.instructions[i].binding, listed.instructions[i].rings);
    }
    if (!same(us, listed.us)) refuse("takes {} us, not {}", us, listed.us);
    // The first is what the iteration does.
    ReductionSteps& doing = doings_[static_cast<std::size_t>(&wanted - ranking_.job.reductions.data())];
    if (doing.cut.empty()) doing = {cut, std::move(steps)};
  }

  // The user's strategy is named again by its levels, and evaluated as it was when the ranking was made.
  void check_own(const ReductionRanking& reduction) {
    if (!reduction.own || !reduction.own->fault.empty()) return;
    const OwnStrategy& own = *reduction.own;
    NamedStrategy named;
    for (const PricedInstruction& each : own.priced.instructions)
      named.push_back({own.levels[each.instruction.slice], each.instruction.form,
                       each.instruction.form == StrategyInstruction::Form::InsideGroup
                           ? ""
                           : own.levels[each.instruction.ancestor],
                       each.instruction.operation});
    const OwnStrategy truth = evaluated(ranking_.hierarchy, ranking_.job, reduction.reduction, ranked_.matrix,
                                        options_.algorithm, named);
    if (!truth.fault.empty()) return refuse("the user's strategy is none: {}", truth.fault);
    const auto alike = [](const PricedInstruction& a, const PricedInstruction& b) {
      return a.instruction == b.instruction &&
             same(a, StepTime{b.us, b.latency_us, b.binding, b.rings, b.pattern});
    };
    if (own.levels != truth.levels || !same(own.priced.us, truth.priced.us) ||
        !std::ranges::equal(own.priced.instructions, truth.priced.instructions, alike))
      refuse("the user's strategy takes {} us, or its instructions others than it states", truth.priced.us);
  }

  const Ranking& ranking_;
  const RankedMatrix& ranked_;
  const std::string name_;
  const bool conditioned_;
  RankingReport& report_;
  const PlaceOptions options_;
  std::string place_ = {};
  std::vector<ReductionSteps> doings_ = {};  // what was verified, by reduction
};

void refuse(RankingReport& report, std::string words) {
  report.faults.push_back({.kind = Fault::Kind::Claim, .words = std::move(words)});
}

// Placements are distinct, and none takes less than the one before it.
void check_order(const Ranking& ranking, RankingReport& report) {
  std::set<std::vector<std::vector<int>>> seen;
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    if (!seen.insert(ranking.best[m].matrix.factors).second)
      refuse(report, fmt::format("placement {} is there twice", m + 1));
  // Rounded as the ranking compared them; what differs in rounding alone is in either order.
  for (std::size_t m = 1; m < ranking.best.size(); ++m)
    if (rounded_price(ranking.best[m].us) < rounded_price(ranking.best[m - 1].us) &&
        !same(ranking.best[m].us, ranking.best[m - 1].us))
      refuse(report, fmt::format("placement {} takes less than the one before it", m + 1));
}

// Checks the consistency of the sizes: their formulas are in a template, which a ranking does not have.
void check_sizes(const Ranking& ranking, RankingReport& report) {
  const SizeChoices& choices = ranking.size_choices;
  if (choices.priced > choices.fit || choices.fit > choices.all || std::ssize(ranking.sizes) > choices.priced)
    refuse(report, "more choices of sizes were placed than there are");
  for (std::size_t i = 0; i < ranking.sizes.size(); ++i) {
    long long product = 1;
    for (int size : ranking.sizes[i].sizes) product = std::min(product * size, 1LL << 40);
    if (product != devices(ranking.hierarchy))
      refuse(report,
             fmt::format("sizes {}: multiply to {}, not {}", i + 1, product, devices(ranking.hierarchy)));
    if (i > 0 && ranking.sizes[i].us() < ranking.sizes[i - 1].us() * (1 - 1e-9))
      refuse(report, fmt::format("sizes {}: take less than those before them", i + 1));
  }
  if (ranking.sizes.empty() || ranking.best.empty()) return;
  for (std::size_t i = 0; i < ranking.job.axes.size(); ++i)
    if (ranking.job.axes[i].size != ranking.sizes.front().sizes[i])
      return refuse(report, "the job's sizes are not those that come first");
  if (!same(ranking.sizes.front().communication_us, ranking.best.front().us))
    refuse(report, "sizes 1: communicate in another time than their first placement");
}

// All matrices are priced again.
// Last, and only if nothing else is wrong: it takes as long as the ranking did.
void check_against_all(const Ranking& ranking, const std::function<bool(int, int)>& progress,
                       RankingReport& report) {
  PlaceOptions options = options_of(ranking);
  // As many placements and strategies as the file lists: of equal ones, which is first depends on how many
  // are asked for.
  options.top = std::max<int>(1, static_cast<int>(ranking.best.size()));
  for (const RankedMatrix& ranked : ranking.best)
    for (const ReductionRanking& reduction : ranked.reductions)
      options.strategies = std::max<int>(options.strategies, static_cast<int>(reduction.strategies.size()));
  // If not all were priced, nothing is checked of the others.
  options.progress = [&](int done, int of) {
    return ranking.priced == ranking.matrices && !is_cut_short(ranking) && (!progress || progress(done, of));
  };
  const Ranking truth = rank_placements(ranking.hierarchy, ranking.job, options);
  report.matrices = truth.priced;
  if (is_cut_short(ranking) ? ranking.matrices > truth.matrices : ranking.matrices != truth.matrices)
    return refuse(report, fmt::format("{} fit, not {}", counted(truth.matrices, "matrix", "matrices"),
                                      ranking.matrices));
  if (ranking.priced > ranking.matrices) return refuse(report, "more matrices are priced than fit");
  if (is_cut_short(ranking) || ranking.priced < ranking.matrices || truth.priced < truth.matrices) return;
  if (ranking.without_strategy != truth.without_strategy)
    return refuse(report, fmt::format("{} without a strategy, not {}",
                                      counted(truth.without_strategy, "matrix is", "matrices are"),
                                      ranking.without_strategy));
  for (std::size_t m = 0; m < truth.best.size(); ++m) {
    if (m == ranking.best.size()) return refuse(report, "lists no placement, and there are some");
    if (!same(ranking.best[m].us, truth.best[m].us))
      return refuse(report,
                    fmt::format("placement {}: takes {} us, where {} of {} us is the next best", m + 1,
                                ranking.best[m].us, to_text(truth.best[m].matrix), truth.best[m].us));
  }
}

}  // namespace

RankingReport check_ranking(const Ranking& ranking, const std::function<bool(int done, int of)>& progress) {
  // The axes have to fit first, since all else is computed from them; all matrices are priced last, since
  // that takes longest.
  RankingReport report;
  require_fitting_axes(ranking.hierarchy, ranking.job.axes);
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    Placement(ranking, ranking.best[m], fmt::format("{}", m + 1), true, report).check();
  if (ranking.present) Placement(ranking, *ranking.present, "present", false, report).check();
  check_order(ranking, report);
  if (ranking.size_choices.all > 0) check_sizes(ranking, report);
  if (report.faults.empty() && !ranking.job.reductions.empty()) check_against_all(ranking, progress, report);
  return report;
}

}  // namespace chorale
