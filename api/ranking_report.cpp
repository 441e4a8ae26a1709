// The report of a ranking: what the job communicates, the choices of sizes if there were any, the placements,
// and the steps of their strategies with their device groups, of which the first few are listed.
#include <fmt/format.h>

#include <algorithm>

#include "api/place.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Of 512 devices the groups of a step would fill a page; their pattern shows in the first two.
constexpr int kMostShownGroups = 2, kMostShownMembers = 6;

// "{0, 16} {1, 17} ... (16 groups of 2)"
std::string groups_in_words(const DeviceGroups& groups) {
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

// Between bytes and names of axes: "per device, summed over data and pipeline".
const char* goal_in_words(Goal goal) {
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

std::string label_of(const Reduction& reduction) {
  return reduction.name.empty() ? "reduction" : reduction.name;
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
  if (!overlaps(job)) return "";
  if (!reduction.after) return &reduction == job.reductions.data() ? ", at once" : ", after all before it";
  std::string text;
  for (int before : *reduction.after)
    text += (text.empty() ? ", after " : " and ") + label_of(job.reductions[before]);
  return text.empty() ? ", at once" : text;
}

// What the job communicates, under the machine and its axes.
ReportTable communications_table(const Ranking& ranking) {
  const Job& job = ranking.job;
  std::vector<std::string> axes;
  for (const Axis& axis : job.axes) axes.push_back(fmt::format("{} {}", axis.name, axis.size));
  const double call_us = ranking.hierarchy.call_us;
  ReportTable table{
      .title = fmt::format("{}: {}{}; axes {}", ranking.hierarchy.name,
                           counted(devices(ranking.hierarchy), "device"),
                           call_us > 0 ? "; a call costs " + format_us(call_us) : "", joined(axes)),
      .rows = {{"communication", "bytes", ""}},
      .kinds = "lrl"};
  for (const Reduction& reduction : job.reductions) {
    std::vector<std::string> over;
    for (int axis : reduction.axes) over.push_back(job.axes[axis].name);
    table.rows.push_back({label_of(reduction), format_bytes(reduction.bytes),
                          fmt::format("{} {}{}{}", goal_in_words(reduction.goal), joined(over, " and "),
                                      reduction.times == 1 ? "" : fmt::format(", {} times", reduction.times),
                                      after_in_words(job, reduction))});
  }
  return table;
}

// For a job whose sizes were chosen: a row for each of the best choices, the first of which is placed.
ReportTable sizes_table(const Ranking& ranking) {
  ReportTable table{.title = "Sizes", .rows = {{"#"}}};
  for (const Axis& axis : ranking.job.axes) table.rows.front().push_back(axis.name);
  for (const char* title : {"memory", "computed", "communicated", "iteration", "slower"})
    table.rows.front().push_back(title);
  for (std::size_t i = 0; i < ranking.sizes.size(); ++i) {
    const RankedSizes& each = ranking.sizes[i];
    std::vector<std::string>& row = table.rows.emplace_back(std::vector{std::to_string(i + 1)});
    for (int size : each.sizes) row.push_back(std::to_string(size));
    row.insert(row.end(), {fmt::format("{:.1f} GB", each.memory_bytes / 1e9), format_us(each.compute_us),
                           format_us(each.communication_us), format_us(each.us()),
                           i == 0 ? "-" : gain(each.us(), ranking.sizes.front().us())});
  }
  table.kinds.assign(table.rows.front().size(), 'r');
  return table;
}

std::string sizes_in_words(const Ranking& ranking) {
  const SizeChoices& choices = ranking.size_choices;
  const std::string of =
      fmt::format("{} that multiply to {}", choices.all, counted(devices(ranking.hierarchy), "device"));
  if (choices.priced < choices.fit)
    return fmt::format("stopped: {} of {} that fit, of {}, were placed; better ones may be among the others",
                       choices.priced, choices.fit, of);
  return counted(choices.fit, "choice fits", "choices fit") + " of " + of;
}

// Where reductions overlap (Job::reductions with `after`) a column has the time one by one.
ReportTable placements_table(const Ranking& ranking) {
  const bool sums = std::ranges::all_of(ranking.job.reductions,
                                        [](const Reduction& each) { return each.goal == Goal::AllReduce; });
  const bool overlap = overlaps(ranking.job);
  ReportTable table{.title = "Placements",
                    .rows = {{"#", "matrix", sums ? "AllReduce" : "single collective", "best", "speedup",
                              "slowdown vs. best"}},
                    .kinds = overlap ? "rlrrrrr" : "rlrrrr"};
  if (overlap) table.rows.front().push_back("one by one");
  for (std::size_t m = 0; m < ranking.best.size(); ++m) {
    const RankedMatrix& ranked = ranking.best[m];
    table.rows.push_back(
        {std::to_string(m + 1), to_text(ranked.matrix) + orders_in_words(ranking, ranked.matrix),
         format_us(ranked.allreduce_us), format_us(ranked.us), gain(ranked.allreduce_us, ranked.us),
         m == 0 ? "-" : gain(ranked.us, ranking.best.front().us)});
    if (overlap) table.rows.back().push_back(format_us(ranked.one_by_one_us));
  }
  return table;
}

// An all-to-all or a shift is one step, without strategies to choose from. `explain`: with the part of each
// time that is latency, and the link or port that binds.
ReportTable steps_table(const Ranking& ranking, bool explain) {
  ReportTable table{
      .title = "Steps, by placement and communication",
      .rows = {{"#", "communication", "step", "time", "of it latency", "bound by", "at once", "groups"}},
      .kinds = explain ? "rllrrlll" : "rllrl"};
  const auto add = [&](std::size_t m, const std::string& name, const std::string& step,
                       const PricedInstruction& priced, const std::string& groups) {
    table.rows.push_back({std::to_string(m + 1), name, step, format_us(priced.us),
                          format_us(priced.latency_us), priced.binding,
                          priced.rings > 1 ? std::to_string(priced.rings) : "", groups});
  };
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    for (const ReductionRanking& reduction : ranking.best[m].reductions) {
      const std::string name = label_of(ranking.job.reductions[reduction.reduction]);
      if (reduction.exchange) add(m, name, reduction.exchange->pattern, *reduction.exchange, "");
      for (std::size_t k = 0; k < reduction.strategies.size(); ++k) {
        const RankedStrategy& strategy = reduction.strategies[k];
        const std::string which =
            reduction.strategies.size() > 1 ? fmt::format("{} ({})", name, k + 1) : name;
        for (std::size_t i = 0; i < strategy.instructions.size(); ++i)
          add(m, which, to_text(strategy.instructions[i].instruction, reduction.levels),
              strategy.instructions[i],
              i < strategy.lowered.size() ? groups_in_words(strategy.lowered[i].groups) : "");
      }
    }
  for (std::vector<std::string>& row : table.rows)
    if (!explain) row.erase(row.begin() + 4, row.end() - 1);
  return table;
}

// What became of the strategy that the user brought.
std::string own_in_words(const OwnStrategy& own, const ReductionRanking& reduction) {
  if (!own.fault.empty()) return "given strategy: not valid here: " + own.fault;
  std::vector<std::string> steps;
  for (const PricedInstruction& each : own.priced.instructions)
    steps.push_back(fmt::format("{} by {}", format_us(each.us), each.binding));
  return fmt::format("given strategy: {}, {} slowdown vs. best ({})", format_us(own.priced.us),
                     gain(own.priced.us, reduction.strategies.front().us), joined(steps));
}

// "system 0, columns 4, rows 47, reduction 110"
std::string programs_in_words(const ReductionRanking& reduction) {
  std::vector<std::string> counts;
  for (std::size_t k = 0; k < std::size(kSynthesisChoices); ++k)
    counts.push_back(fmt::format("{} {}", kSynthesisChoices[k].name, reduction.programs_over[k]));
  return joined(counts);
}

// Of one reduction under one matrix. The counts over each synthesis hierarchy show what the choice of one
// leaves out: by default only with `explain`.
std::vector<std::string> further_sentences(const Ranking& ranking, const ReductionRanking& reduction,
                                           bool explain) {
  std::vector<std::string> all;
  if (overlaps(ranking.job))
    all.push_back(fmt::format("from {} to {}", format_us(reduction.from_us), format_us(reduction.to_us)));
  if (reduction.own) all.push_back(own_in_words(*reduction.own, reduction));
  if (reduction.programs == 0) return all;
  all.push_back(fmt::format("{} of at most {} instructions, {} faster than one AllReduce",
                            counted(reduction.programs, "strategy", "strategies"), kMostCounted,
                            reduction.faster));
  if (explain || ranking.synthesis != name_of(SynthesisKind::Collapsed))
    all.push_back("over the hierarchies: " + programs_in_words(reduction));
  return all;
}

// What a solver found, what that proves, and what it took.
std::string solver_in_words(const Ranking& ranking) {
  const SolverReport& solver = *ranking.solver;
  std::string found = counted(solver.strategies, "strategy", "strategies");
  if (!solver.complete)
    found += " found until the limit, unproven: others may exist, and be cheaper";
  else if (solver.nothing_longer)
    found += ", any other and any longer one refuted";
  else if (solver.strategies > 0)
    found += fmt::format(", any other of at most {} instructions refuted; longer ones were not searched",
                         kMostCounted);
  return fmt::format("engine {}: {}; {}, {}, {:.3f} s", ranking.engine, found,
                     counted(solver.calls, "solver call"), counted(solver.conflicts, "conflict"),
                     solver.seconds);
}

std::string priced_in_words(const Ranking& ranking) {
  if (ranking.priced < ranking.matrices)
    return fmt::format("stopped: {} of {} priced{}", ranking.priced,
                       counted(ranking.matrices, "matrix", "matrices"),
                       ranking.priced > 0 ? "; better ones may be among the others" : "");
  const std::string without = ranking.without_strategy == 0
                                  ? ""
                                  : fmt::format(", {} of them without a strategy over the hierarchy '{}'",
                                                ranking.without_strategy, ranking.synthesis);
  return fmt::format(
      "{} priced{}; {}, rules {}; {:.3f} s",
      ranking.priced == 1 ? "the only matrix" : "all " + counted(ranking.priced, "matrix", "matrices"),
      without, ranking.algorithm, ranking.rules, ranking.seconds);
}

}  // namespace

Report report_of(const Ranking& ranking, bool explain) {
  std::vector<ReportTable> tables = {communications_table(ranking), placements_table(ranking),
                                     steps_table(ranking, explain)};
  if (tables.back().rows.size() == 1) tables.pop_back();  // nothing is sent
  Report report{.title = tables.front().title, .sentences = sentences(ranking), .tables = tables};
  if (ranking.size_choices.all > 0) {
    report.tables.insert(report.tables.begin() + 1, sizes_table(ranking));
    report.sentences.insert(report.sentences.begin(), sizes_in_words(ranking));
  }
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    for (const ReductionRanking& reduction : ranking.best[m].reductions)
      for (const std::string& sentence : further_sentences(ranking, reduction, explain))
        report.sentences.push_back(fmt::format(
            "{}, {}: {}", m + 1, label_of(ranking.job.reductions[reduction.reduction]), sentence));
  report.sentences.push_back(priced_in_words(ranking));
  if (ranking.solver) report.sentences.push_back(solver_in_words(ranking));
  return report;
}

}  // namespace chorale
