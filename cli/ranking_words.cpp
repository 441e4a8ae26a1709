// The text of 'place': job, sizes, sentences (ir/ranking.h), a table of matrices, and below it the
// strategies of each with their device groups, of which the first few are listed.
#include "cli/ranking_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/place.h"
#include "api/report.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/report.h"
#include "ir/error.h"
#include "ir/json_report.h"
#include "ir/ranking.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Of 512 devices the groups of a step would fill a page; their pattern shows in the first two.
constexpr int kMostShownGroups = 2, kMostShownMembers = 6;

// "{0, 16} {1, 17} ... (16 groups of 2)"
std::string in_words(const DeviceGroups& groups) {
  std::string text;
  for (std::size_t g = 0; g < groups.size() && g < kMostShownGroups; ++g) {
    text += g > 0 ? " {" : "{";
    for (std::size_t i = 0; i < groups[g].size() && i < kMostShownMembers; ++i)
      text += (i > 0 ? ", " : "") + std::to_string(groups[g][i]);
    text += groups[g].size() > kMostShownMembers ? ", ...}" : "}";
  }
  if (groups.size() > kMostShownGroups) text += " ...";
  return text + fmt::format(" ({} of {})", counted(static_cast<long long>(groups.size()), "group"),
                            groups.front().size());
}

// A row per step: its time, the part that is latency, and the link or port that binds it.
std::string explained(const RankedStrategy& strategy, const ReductionRanking& reduction) {
  TableRows rows;
  for (std::size_t i = 0; i < strategy.instructions.size(); ++i) {
    const PricedInstruction& priced = strategy.instructions[i];
    rows.push_back({fmt::format("     step {}", i + 1), to_text(priced.instruction, reduction.levels),
                    format_us(priced.us), "of it latency " + format_us(priced.latency_us),
                    "bound by " + priced.binding,
                    priced.rings > 1 ? fmt::format("{} at once", priced.rings) : "",
                    i < strategy.lowered.size() ? in_words(strategy.lowered[i].groups) : ""});
  }
  return table(rows, "llrllll");
}

// A line per step: the devices that it joins.
std::string groups_in_words(const RankedStrategy& strategy) {
  std::string text;
  for (const LoweredInstruction& step : strategy.lowered) text += "     " + in_words(step.groups) + "\n";
  return text;
}

// Between bytes and names of axes: "2 GiB per device, summed over data and pipeline".
const char* in_words(Goal goal) {
  switch (goal) {
    case Goal::AllReduce:
      return "per device, summed over";
    case Goal::ReduceScatter:
      return "per device, summed, and left in parts, over";
    case Goal::AllGather:
      return "on each device in the end, gathered over";
    case Goal::AllToAll:
      return "per device, exchanged by all with all over";
    case Goal::Shift:
      return "per device, sent to the next along";
  }
  return "";
}

// How many times as fast; a dash where the job takes no time.
std::string gain(double slow, double fast) {
  return fast > 0 ? fmt::format("{:.2f}x", slow / fast) : "-";
}

// Where axes vary inside of a level in another order than they were given: ", gpu by b then a", the slowest
// first.
std::string orders_in_words(const Ranking& ranking, const ParallelismMatrix& matrix) {
  std::string text;
  for (std::size_t j = 0; j < matrix.orders.size(); ++j) {
    std::vector<int> split;
    for (int axis : matrix.orders[j])
      if (matrix.factors[axis][j] > 1) split.push_back(axis);
    if (std::is_sorted(split.begin(), split.end())) continue;
    text += ", " + ranking.hierarchy.levels[j].name + " by";
    for (std::size_t k = 0; k < split.size(); ++k)
      text += (k > 0 ? " then " : " ") + ranking.job.axes[split[k]].name;
  }
  return text;
}

// Where some run side by side: ", after gradients".
std::string after_in_words(const Job& job, const Reduction& reduction) {
  if (!reduction.after) return &reduction == job.reductions.data() ? ", at once" : ", after all before it";
  std::string text;
  for (int before : *reduction.after) {
    const std::string& name = job.reductions[before].name;
    text += (text.empty() ? ", after " : " and ") + (name.empty() ? "reduction" : name);
  }
  return text.empty() ? ", at once" : text;
}

// What became of the strategy that the user brought.
std::string own_in_words(const OwnStrategy& own, const ReductionRanking& reduction) {
  if (!own.fault.empty()) return "     given strategy: not valid here: " + own.fault + "\n";
  std::string steps;
  for (const PricedInstruction& each : own.priced.instructions)
    steps += fmt::format("{}{} by {}", steps.empty() ? "" : ", ", format_us(each.us), each.binding);
  return fmt::format("     given strategy: {}, {} slowdown vs. best ({})\n", format_us(own.priced.us),
                     gain(own.priced.us, reduction.strategies.front().us), steps);
}

// "system 0, columns 4, rows 47, reduction 110"
std::string programs_in_words(const ReductionRanking& reduction) {
  std::string text;
  for (std::size_t k = 0; k < std::size(kSynthesisChoices); ++k)
    text += fmt::format("{}{} {}", k > 0 ? ", " : "", kSynthesisChoices[k].name, reduction.programs_over[k]);
  return text;
}

// ", 2 of them without a strategy over the hierarchy 'system'"
std::string without_in_words(const Ranking& ranking) {
  return ranking.without_strategy == 0
             ? ""
             : fmt::format(", {} of them without a strategy over the hierarchy '{}'",
                           ranking.without_strategy, ranking.synthesis);
}

// What a solver found, what that proves, and what it took.
std::string solver_in_words(const Ranking& ranking) {
  if (!ranking.solver) return "";
  const SolverReport& solver = *ranking.solver;
  const std::string strategies = counted(solver.strategies, "strategy", "strategies");
  std::string found = strategies;
  if (!solver.complete)
    found += " found until the limit, unproven: others may exist, and be cheaper";
  else if (solver.nothing_longer)
    found += ", any other and any longer one refuted";
  else if (solver.strategies > 0)
    found += fmt::format(", any other of at most {} instructions refuted; longer ones were not searched",
                         kMostCounted);
  return fmt::format("engine {}: {}; {}, {}, {:.3f} s\n", ranking.engine, found,
                     counted(solver.calls, "solver call"), counted(solver.conflicts, "conflict"),
                     solver.seconds);
}

// For a job whose sizes were chosen: a line for each of the best choices.
std::string sizes_in_words(const Ranking& ranking) {
  const SizeChoices& choices = ranking.size_choices;
  if (choices.all == 0) return "";
  TableRows rows = {{"#"}};
  for (const Axis& axis : ranking.job.axes) rows.front().push_back(axis.name);
  for (const char* title : {"memory", "computed", "communicated", "iteration", "slower"})
    rows.front().push_back(title);
  for (std::size_t i = 0; i < ranking.sizes.size(); ++i) {
    const RankedSizes& each = ranking.sizes[i];
    rows.push_back({fmt::format("{}", i + 1)});
    for (int size : each.sizes) rows.back().push_back(fmt::format("{}", size));
    for (const std::string& cell :
         {fmt::format("{:.1f} GB", each.memory_bytes / 1e9), format_us(each.compute_us),
          format_us(each.communication_us), format_us(each.us()),
          i == 0 ? "-" : gain(each.us(), ranking.sizes.front().us())})
      rows.back().push_back(cell);
  }
  return table(rows, std::string(rows.front().size(), 'r')) +
         fmt::format("{}{} of {} that multiply to {}{}\n", choices.priced < choices.fit ? "stopped: " : "",
                     choices.priced < choices.fit
                         ? fmt::format("{} of {} that fit,", choices.priced, choices.fit)
                         : counted(choices.fit, "choice fits", "choices fit"),
                     choices.all, counted(devices(ranking.hierarchy), "device"),
                     choices.priced < choices.fit ? ", were placed; better ones may be among the others"
                                                  : "; the first in full:") +
         "\n";
}

}  // namespace

// Numbers before strategies are those of the table's rows. Where reductions overlap (Job::reductions with
// `after`) a column has the time one by one, and each reduction the span in which it runs.
std::string in_words(const Ranking& ranking, bool explain) {
  const Job& job = ranking.job;
  std::string axes;
  for (const Axis& axis : job.axes)
    axes += fmt::format("{}{} {}", axes.empty() ? "" : ", ", axis.name, axis.size);
  std::string text = fmt::format("{}: {}{}; axes {}\n", ranking.hierarchy.name,
                                 counted(devices(ranking.hierarchy), "device"),
                                 call_in_words(ranking.hierarchy.call_us), axes);
  text += sizes_in_words(ranking);
  for (const Reduction& reduction : job.reductions) {
    std::string over;
    for (int axis : reduction.axes) over += (over.empty() ? "" : " and ") + job.axes[axis].name;
    text += fmt::format("{}: {} {} {}{}{}\n", reduction.name.empty() ? "reduction" : reduction.name,
                        format_bytes(reduction.bytes), in_words(reduction.goal), over,
                        reduction.times == 1 ? "" : fmt::format(", {} times", reduction.times),
                        overlaps(job) ? after_in_words(job, reduction) : "");
  }
  for (const std::string& sentence : sentences(ranking)) text += sentence + "\n";
  const bool sums = std::all_of(job.reductions.begin(), job.reductions.end(),
                                [](const Reduction& each) { return each.goal == Goal::AllReduce; });
  TableRows rows = {
      {"#", "matrix", sums ? "AllReduce" : "single collective", "best", "speedup", "slowdown vs. best"}};
  if (overlaps(job)) rows.front().push_back("one by one");
  for (std::size_t m = 0; m < ranking.best.size(); ++m) {
    const RankedMatrix& ranked = ranking.best[m];
    rows.push_back(
        {fmt::format("{}", m + 1), to_text(ranked.matrix) + orders_in_words(ranking, ranked.matrix),
         format_us(ranked.allreduce_us), format_us(ranked.us), gain(ranked.allreduce_us, ranked.us),
         m == 0 ? "-" : gain(ranked.us, ranking.best.front().us)});
    if (overlaps(job)) rows.back().push_back(format_us(ranked.one_by_one_us));
  }
  text += table(rows, overlaps(job) ? "rlrrrrr" : "rlrrrr");
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    for (const ReductionRanking& reduction : ranking.best[m].reductions) {
      // An all-to-all or a shift is one step, without strategies to choose from.
      if (reduction.exchange)
        text += fmt::format("{}  {}: {}, of it latency {}, bound by {}\n", m + 1,
                            job.reductions[reduction.reduction].name, format_us(reduction.exchange->us),
                            format_us(reduction.exchange->latency_us), reduction.exchange->binding);
      int number = 0;
      for (const RankedStrategy& strategy : reduction.strategies) {
        ++number;
        const std::string& name = job.reductions[reduction.reduction].name;
        text += fmt::format("{}  {}{}{} {}\n", m + 1, name.empty() ? "reduction" : name,
                            reduction.strategies.size() > 1 ? fmt::format(" ({})", number) : "", ":",
                            to_text(strategy.strategy(), reduction.levels));
        text += explain ? explained(strategy, reduction) : groups_in_words(strategy);
      }
      if (overlaps(job))
        text += fmt::format("     from {} to {}\n", format_us(reduction.from_us), format_us(reduction.to_us));
      if (reduction.own) text += own_in_words(*reduction.own, reduction);
      if (reduction.programs > 0)
        text += fmt::format("     {} of at most {} instructions, {} faster than one AllReduce\n",
                            counted(reduction.programs, "strategy", "strategies"), kMostCounted,
                            reduction.faster);
      // The counts over each synthesis hierarchy, which show what the choice of one leaves out: by default
      // only with --explain.
      if (reduction.programs > 0 && (explain || ranking.synthesis != name_of(SynthesisKind::Collapsed)))
        text += fmt::format("     over the hierarchies: {}\n", programs_in_words(reduction));
    }
  if (ranking.priced < ranking.matrices)
    text += fmt::format("stopped: {} of {} priced{}\n", ranking.priced,
                        counted(ranking.matrices, "matrix", "matrices"),
                        ranking.priced > 0 ? "; better ones may be among the others" : "");
  else
    text += fmt::format("{}{} priced{}; {}, rules {}; {:.3f} s\n", ranking.priced == 1 ? "the only " : "all ",
                        ranking.priced == 1 ? "matrix" : counted(ranking.priced, "matrix", "matrices"),
                        without_in_words(ranking), ranking.algorithm, ranking.rules, ranking.seconds);
  return text + solver_in_words(ranking);
}

// 'check' and 'show' take a result or a ranking by the same name; options that are of results only are
// refused here by comparing them with their defaults.

namespace {

// An option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file) {
  if (!unset) throw InputError(option, "is for results, and " + file + " is a ranking", "leave it out");
}

// Statements about all matrices that were examined.
std::string beyond_the_list(const Ranking& ranking, const RankingReport& report) {
  if (ranking.priced < ranking.matrices)
    return fmt::format("; the ranking was cut short, {} of {} priced, so others may be better",
                       ranking.priced, counted(ranking.matrices, "matrix", "matrices"));
  if (ranking.solver && !ranking.solver->complete)
    return "; the solver was cut short, so other strategies may be cheaper, and other placements better";
  return fmt::format(
      "; {} priced again, none is better{}",
      ranking.matrices == 1 ? "the only matrix" : fmt::format("all {} matrices", report.matrices),
      ranking.solver ? fmt::format(" by strategies of at most {} instructions", kMostCounted) : "");
}

// `stopped`: why not all was checked, if so.
Outcome outcome_of(const CheckCommand& command, const Ranking& ranking, const RankingReport& report,
                   Stopped stopped) {
  std::string text = listed_faults(command, report.faults);
  text += fmt::format("{} and {} verified and priced again", counted(report.placements, "placement"),
                      counted(report.strategies, "strategy", "strategies"));
  if (stopped != Stopped::No)
    text += "; not all was checked (" + name_of(stopped) + ")";
  else if (report.faults.empty())
    text += beyond_the_list(ranking, report);
  if (ranking.size_choices.all > 0 && report.faults.empty())
    text += "; other sizes were not, their template is not in the file";
  text += "\n";
  Outcome outcome{.exit_code = report.faults.empty() ? exit_code_of(stopped) : kBadInput, .text = text};
  if (!command.json.empty()) deliver(command.json, to_json(report), outcome);
  return outcome;
}

}  // namespace

// The first fault is the error, unless all are listed or a file has them: a file that is wrong once may be
// wrong in every row.
std::string listed_faults(const CheckCommand& command, const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fmt::format("{}: {}\n", command.file, fault.words);
  if (faults.empty() || command.all || !command.json.empty()) return text;
  const auto more = static_cast<long long>(faults.size()) - 1;
  throw InputError(command.file, faults.front().words,
                   more == 0 ? "" : "and " + counted(more, "more fault") + " (--all lists them)");
}

// Listed placements are verified and priced first; then all matrices are priced again, which shows that none
// is better. A fault ends the check, since a ranking with one proves nothing.
Outcome check_ranking_file(const CheckCommand& command, Supervisor& supervisor) {
  require_unset(command.proofs.empty(), "--proofs", command.file);
  require_unset(command.lrat.empty(), "--lrat", command.file);
  require_unset(command.pb.empty(), "--pb", command.file);
  require_unset(command.conflicts == -1, "--conflicts", command.file);
  require_unset(command.plain_conflicts == PlainEffort{}.conflicts, "--plain-conflicts", command.file);
  const std::atomic<bool>* const stop = supervisor.stop();
  supervisor.progress().show("reading " + command.file);
  const Ranking ranking = read_ranking(command.file);
  supervisor.publish(
      [&command, ranking](Stopped stopped) { return outcome_of(command, ranking, {}, stopped); });
  const RankingReport report = check(ranking, [&](int done, int of) {
    supervisor.progress().show(fmt::format("{} of {} priced again", done, counted(of, "matrix", "matrices")));
    return !*stop;
  });
  supervisor.take_floor();
  const bool whole =
      !report.faults.empty() || ranking.priced < ranking.matrices || report.matrices == ranking.matrices;
  return outcome_of(command, ranking, report, whole ? Stopped::No : supervisor.stopped());
}

// The text is that of `place --explain`: the file has what binds each step.
Outcome show_ranking_file(const ShowCommand& command) {
  require_unset(!command.point, "--point", command.file);
  require_unset(command.bytes.empty(), "--bytes", command.file);
  require_unset(!command.model.alpha_us && !command.model.beta_us_per_byte, "--alpha and --beta",
                command.file);
  const Ranking ranking = read_sound_ranking(command.file);
  Outcome outcome{.text = in_words(ranking, true)};
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  return outcome;
}

}  // namespace chorale
