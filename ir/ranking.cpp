// The strategy without its prices.
#include "ir/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/words.h"

namespace chorale {

Strategy RankedStrategy::strategy() const {
  Strategy result;
  for (const PricedInstruction& priced : instructions) result.push_back(priced.instruction);
  return result;
}

// A ranking in sentences, for people who do not read matrices: where each axis lies, what each communication
// takes and is bound by, and why the next placement is slower. Derived from the ranking alone, so that text,
// page and Python agree.

namespace {

// Below this difference a communication is not named as a reason.
constexpr double kNoticeable = 0.01;

// "gpu" -> "GPU", "GPUs"; "switch" -> "switches".
std::string level_word(const std::string& name, bool many) {
  const bool sibilant = name.ends_with('s') || name.ends_with('x') || name.ends_with("ch");
  std::string word = name;
  if (name == "gpu" || name == "cpu") std::ranges::transform(word, word.begin(), ::toupper);
  return word + (many ? sibilant ? "es" : "s" : "");
}

// How far apart two neighbours along the axis are inside of the level.
// Inside of a level axes vary in an order, the last the fastest: those after it are between its neighbours.
int stride(const ParallelismMatrix& matrix, int axis, int level) {
  const std::vector<int> order = order_of(matrix, level);
  int apart = 1;
  for (auto at = std::ranges::find(order, axis) + 1; at < order.end(); ++at)
    apart *= matrix.factors[*at][level];
  return apart;
}

// "the 8 GPUs of a node", "4 adjacent GPUs of a node", "2 GPUs of a node (4 apart)".
std::string part_in_words(const ParallelismMatrix& matrix, int axis, int level, const Hierarchy& hierarchy) {
  const int factor = matrix.factors[axis][level], apart = stride(matrix, axis, level);
  const Level& its = hierarchy.levels[level];
  const std::string unit = level == 0 ? "" : " of a " + level_word(hierarchy.levels[level - 1].name, false);
  const std::string children = level_word(its.name, true);
  if (factor == its.fan_out) return fmt::format("the {} {}{}", factor, children, unit);
  if (apart == 1) return fmt::format("{} adjacent {}{}", factor, children, unit);
  return fmt::format("{} {}{} ({} apart)", factor, children, unit, apart);
}

// "data (16) over the 2 nodes times the 8 GPUs of a node".
std::string axis_in_words(const ParallelismMatrix& matrix, int axis, const Axis& its,
                          const Hierarchy& hierarchy) {
  std::vector<std::string> parts;
  for (int j = 0; j < std::ssize(hierarchy.levels); ++j)
    if (matrix.factors[axis][j] > 1) parts.push_back(part_in_words(matrix, axis, j, hierarchy));
  return parts.empty() ? fmt::format("{} ({}) is not split", its.name, its.size)
                       : fmt::format("{} ({}) over {}", its.name, its.size, joined(parts, " times "));
}

// "AllReduce by 8 rings", "ReduceScatter by ring".
std::string step_in_words(const PricedInstruction& step) {
  const std::string operation = name(step.instruction.operation);
  if (step.pattern.empty()) return operation;
  return operation + " by " +
         (step.rings > 1 ? fmt::format("{} {}s", step.rings, step.pattern) : step.pattern);
}

// What binds a strategy is what binds its longest step.
const PricedInstruction* longest_step(const ReductionRanking& reduction) {
  if (reduction.exchange) return &*reduction.exchange;
  if (reduction.strategies.empty() || reduction.strategies.front().instructions.empty()) return nullptr;
  return &*std::ranges::max_element(reduction.strategies.front().instructions, {}, &PricedInstruction::us);
}

// Of an exchange, which has no strategies, its own time; 0 where nothing is sent.
double best_us(const ReductionRanking& reduction) {
  return reduction.exchange             ? reduction.exchange->us
         : reduction.strategies.empty() ? 0
                                        : reduction.strategies.front().us;
}

std::string name_of_reduction(const Job& job, const ReductionRanking& reduction) {
  const std::string& name = job.reductions[reduction.reduction].name;
  return name.empty() ? "reduction" : name;
}

// "grads: 2 GiB over data, AllReduce by 8 rings, 40 ms; bound by node port out".
std::string reduction_in_words(const Ranking& ranking, const ReductionRanking& reduction) {
  const Reduction& wanted = ranking.job.reductions[reduction.reduction];
  std::vector<std::string> axes;
  for (const int axis : wanted.axes) axes.push_back(ranking.job.axes[axis].name);
  std::string text = fmt::format("{}: {} over {}", name_of_reduction(ranking.job, reduction),
                                 format_bytes(wanted.bytes), joined(axes, " and "));
  const PricedInstruction* const longest = longest_step(reduction);
  if (longest == nullptr) return text + ": nothing to send, since these axes are not split";
  std::vector<std::string> steps;
  if (reduction.exchange) {
    steps.push_back(longest->pattern.empty() ? name(wanted.goal) : longest->pattern);
  } else {
    for (const PricedInstruction& each : reduction.strategies.front().instructions)
      steps.push_back(step_in_words(each));
  }
  text += ", " + joined(steps, ", then ") + ", " + format_us(best_us(reduction));
  if (wanted.times != 1)
    text += fmt::format(", {} times: {}", wanted.times, format_us(wanted.times * best_us(reduction)));
  // More than half of the time is latency: then no link binds it.
  if (longest->latency_us > longest->us / 2)
    return text + fmt::format("; bound by latency ({})", format_us(longest->latency_us));
  return text + "; bound by " + longest->binding +
         (steps.size() > 1 ? fmt::format(" in {}", name(longest->instruction.operation)) : "");
}

// "grads 120 ms instead of 40 ms (bound by node port out)", for those that differ.
// Differences below a percent are not reasons; a cheaper communication there is one as well, since it shows a
// trade.
std::string reasons(const Ranking& ranking, const RankedMatrix& other) {
  std::vector<std::string> all;
  for (std::size_t r = 0; r < other.reductions.size(); ++r) {
    const ReductionRanking &there = other.reductions[r], &here = ranking.best.front().reductions[r];
    const double times = ranking.job.reductions[r].times, a = times * best_us(here),
                 b = times * best_us(there);
    if (std::abs(a - b) <= kNoticeable * std::max(a, b)) continue;
    const PricedInstruction* const longest = longest_step(there);
    all.push_back(fmt::format("{} {} instead of {}{}", name_of_reduction(ranking.job, there), format_us(b),
                              format_us(a), longest == nullptr ? "" : " (" + longest->binding + ")"));
  }
  return all.empty() ? "" : ": " + joined(all);
}

// The time itself where the best is 0 and no ratio exists.
std::string times_the_best(double us, double best) {
  return best > 0 ? fmt::format("{:.2f}x the best", us / best) : format_us(us);
}

// "Present placement: ...: 120 ms, 3.00x the best: ...; by single collectives 150 ms, 3.75x the best."
std::string present_in_words(const Ranking& ranking) {
  const RankedMatrix &present = *ranking.present, &best = ranking.best.front();
  const std::string where = in_words(present.matrix, ranking.job.axes, ranking.hierarchy);
  const std::string single = fmt::format("by single collectives {}, {}", format_us(present.allreduce_us),
                                         times_the_best(present.allreduce_us, best.us));
  if (present.matrix == best.matrix) return fmt::format("Present placement: the best one; {}.", single);
  return fmt::format("Present placement: {}: {}, {}{}; {}.", where, format_us(present.us),
                     times_the_best(present.us, best.us), reasons(ranking, present), single);
}

}  // namespace

std::string in_words(const ParallelismMatrix& matrix, const std::vector<Axis>& axes,
                     const Hierarchy& hierarchy) {
  std::vector<std::string> all;
  for (int i = 0; i < std::ssize(axes); ++i) all.push_back(axis_in_words(matrix, i, axes[i], hierarchy));
  return joined(all, "; ");
}

std::vector<std::string> sentences(const Ranking& ranking) {
  if (ranking.best.empty()) return {};
  const RankedMatrix& best = ranking.best.front();
  // Of a ranking that a limit cut short others may be better.
  const bool whole = ranking.priced == ranking.matrices && (!ranking.solver || ranking.solver->complete);
  std::vector<std::string> all = {(whole ? "Best: " : "Best so far: ") +
                                  in_words(best.matrix, ranking.job.axes, ranking.hierarchy) + "."};
  for (const ReductionRanking& reduction : best.reductions)
    all.push_back(reduction_in_words(ranking, reduction) + ".");
  if (ranking.best.size() > 1) {
    const RankedMatrix& next = ranking.best[1];
    all.push_back(fmt::format("Next: {}: {}{}.", in_words(next.matrix, ranking.job.axes, ranking.hierarchy),
                              times_the_best(next.us, best.us), reasons(ranking, next)));
  }
  if (ranking.present) all.push_back(present_in_words(ranking));
  return all;
}

}  // namespace chorale
