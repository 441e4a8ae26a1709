#include <fmt/format.h>

#include <algorithm>

#include "api/place.h"
#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/parse.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr int kMostShownGroups = 2, kMostShownMembers = 6;

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> result(1);
  for (char c : text)
    if (c == separator)
      result.emplace_back();
    else
      result.back() += c;
  return result;
}

int axis_named(const std::string& option, const std::vector<Axis>& axes, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int>(i);
    known += (i > 0 ? ", " : "") + axes[i].name;
  }
  throw InputError(option, "'" + name.substr(0, 60) + "' is no axis", "use one of " + known);
}

int level_named(const std::string& option, const Hierarchy& hierarchy, const std::string& name) {
  std::string known;
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    if (hierarchy.levels[j].name == name) return static_cast<int>(j);
    known += (j > 0 ? ", " : "") + hierarchy.levels[j].name;
  }
  throw InputError(option, "'" + name.substr(0, 60) + "' is no level of " + hierarchy.name,
                   "use one of " + known);
}

std::vector<int> axes_named(const std::string& option, const std::vector<Axis>& axes,
                            const std::string& names) {
  std::vector<int> result;
  for (const std::string& name : parts(names, ',')) result.push_back(axis_named(option, axes, name));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    throw InputError(option, "names an axis twice", "name each once");
  return result;
}

std::vector<Axis> parse_axes(const std::string& text) {
  std::vector<Axis> axes;
  for (const std::string& part : parts(text, ',')) {
    const std::vector<std::string> sides = parts(part, '=');
    if (sides.size() != 2 || sides[0].empty() || sides[0].size() > 40)
      throw InputError("--axes", "'" + part.substr(0, 60) + "' is not an axis",
                       "use name=size, such as data=4,tensor=8");
    if (shown(sides[0]) != sides[0])
      throw InputError("--axes", "'" + sides[0] + "' has characters that cannot be shown",
                       "choose another name");
    for (const Axis& axis : axes)
      if (axis.name == sides[0])
        throw InputError("--axes", "names '" + sides[0] + "' twice", "choose another name");
    axes.push_back({sides[0], static_cast<int>(parse_integer("--axes", sides[1], 1, 1 << 24))});
    if (axes.size() > 8) throw InputError("--axes", "has more than 8 axes", "use fewer");
  }
  return axes;
}

Job job_of(const PlaceCommand& command) {
  const bool by_options = !command.axes.empty() || !command.reduce.empty() || command.bytes > 0 ||
                          command.element != 4 || command.goal != Goal::AllReduce;
  if (!command.job.empty()) {
    if (by_options)
      throw InputError("--job", "excludes --axes, --reduce, --bytes, --goal and --element",
                       "drop one or the others");
    return job_from_json(read_file(command.job), command.job);
  }
  if (command.axes.empty())
    throw InputError("--axes", "is missing", "give axes, such as data=4,tensor=8, or --job FILE");
  Job job{.axes = parse_axes(command.axes)};
  if (command.reduce.empty()) throw InputError("--reduce", "is missing", "name the axes to sum over");
  if (!(command.bytes > 0))
    throw InputError("--bytes", "is missing or zero", "give what every device contributes, such as 4G");
  job.reductions = {{.name = command.reduce,
                     .goal = command.goal,
                     .axes = axes_named("--reduce", job.axes, command.reduce),
                     .bytes = command.bytes,
                     .element_bytes = static_cast<double>(command.element)}};
  return job;
}

Conditions conditions_of(const PlaceCommand& command, const Hierarchy& hierarchy,
                         const std::vector<Axis>& axes) {
  Conditions conditions;
  for (const std::string& text : command.inside) {
    const std::vector<std::string> sides = parts(text, '=');
    if (sides.size() != 2)
      throw InputError("--inside", "'" + text.substr(0, 60) + "' is no condition", "use axis=level");
    conditions.inside.push_back(
        {axis_named("--inside", axes, sides[0]), level_named("--inside", hierarchy, sides[1])});
  }
  for (const std::string& text : command.order) {
    const std::vector<std::string> sides = parts(text, '<');
    if (sides.size() != 2)
      throw InputError("--order", "'" + text.substr(0, 60) + "' is no condition", "use axis<axis");
    conditions.order.push_back(
        {axis_named("--order", axes, sides[0]), axis_named("--order", axes, sides[1])});
    if (sides[0] == sides[1])
      throw InputError("--order", "'" + sides[0].substr(0, 60) + "' is on both sides", "name two axes");
  }
  for (const std::string& text : command.memory) {
    const std::vector<std::string> sides = parts(text, ':');
    if (sides.size() != 4)
      throw InputError("--memory", "'" + text.substr(0, 60) + "' is no condition",
                       "use level:axis,...:bytes:room, such as node:tensor:20G:512G");
    conditions.memory.push_back({level_named("--memory", hierarchy, sides[0]),
                                 axes_named("--memory", axes, sides[1]),
                                 static_cast<double>(parse_size("--memory", sides[2])),
                                 static_cast<double>(parse_size("--memory", sides[3]))});
  }
  return conditions;
}

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

std::string explained(const RankedStrategy& strategy, const ReductionRanking& reduction) {
  std::vector<std::vector<std::string>> rows;
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

// A line a step: whom it joins.
std::string groups_in_words(const RankedStrategy& strategy) {
  std::string text;
  for (const LoweredInstruction& step : strategy.lowered) text += "     " + in_words(step.groups) + "\n";
  return text;
}

const char* in_words(Goal goal) {
  switch (goal) {
    case Goal::AllReduce:
      return "summed over";
    case Goal::ReduceScatter:
      return "summed, and left in parts, over";
    case Goal::AllGather:
      return "gathered over";
    case Goal::AllToAll:
      return "exchanged by all with all over";
    case Goal::Shift:
      return "sent to the next along";
  }
  return "";
}

std::string gain(double slow, double fast) {
  return fast > 0 ? fmt::format("{:.2f}x", slow / fast) : "-";
}

// Where axes vary inside of a level in another order than they were given: ", gpu by b then a", the slowest first.
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

std::string in_words(const Ranking& ranking, bool explain) {
  const Job& job = ranking.job;
  std::string axes;
  for (const Axis& axis : job.axes)
    axes += fmt::format("{}{} {}", axes.empty() ? "" : ", ", axis.name, axis.size);
  std::string text = fmt::format("{}: {}; axes {}\n", ranking.hierarchy.name,
                                 counted(devices(ranking.hierarchy), "device"), axes);
  for (const Reduction& reduction : job.reductions) {
    std::string over;
    for (int axis : reduction.axes) over += (over.empty() ? "" : " and ") + job.axes[axis].name;
    text += fmt::format("{}: {} a device, {} {}{}\n", reduction.name.empty() ? "reduction" : reduction.name,
                        format_bytes(reduction.bytes), in_words(reduction.goal), over,
                        reduction.times == 1 ? "" : fmt::format(", {} times", reduction.times));
  }
  const bool sums = std::all_of(job.reductions.begin(), job.reductions.end(),
                                [](const Reduction& each) { return each.goal == Goal::AllReduce; });
  std::vector<std::vector<std::string>> rows = {
      {"#", "matrix", sums ? "AllReduce" : "undivided", "best", "gain", "behind the first"}};
  for (std::size_t m = 0; m < ranking.best.size(); ++m) {
    const RankedMatrix& ranked = ranking.best[m];
    rows.push_back(
        {fmt::format("{}", m + 1), to_text(ranked.matrix) + orders_in_words(ranking, ranked.matrix),
         format_us(ranked.allreduce_us), format_us(ranked.us), gain(ranked.allreduce_us, ranked.us),
         m == 0 ? "-" : gain(ranked.us, ranking.best.front().us)});
  }
  text += table(rows, "rlrrrr");
  for (std::size_t m = 0; m < ranking.best.size(); ++m)
    for (const ReductionRanking& reduction : ranking.best[m].reductions) {
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
      if (reduction.programs > 0)
        text += fmt::format("     {} of at most {} instructions, {} faster than one AllReduce\n",
                            counted(reduction.programs, "strategy", "strategies"), kMostCounted,
                            reduction.faster);
    }
  if (ranking.priced < ranking.matrices)
    text += fmt::format("stopped: {} of {} priced{}\n", ranking.priced,
                        counted(ranking.matrices, "matrix", "matrices"),
                        ranking.priced > 0 ? "; better ones may be among the others" : "");
  else
    text += fmt::format("{}{} priced; {}, rules {}; {:.3f} s\n", ranking.priced == 1 ? "the only " : "all ",
                        ranking.priced == 1 ? "matrix" : counted(ranking.priced, "matrix", "matrices"),
                        ranking.algorithm, ranking.rules, ranking.seconds);
  return text;
}

// Writes the ranking and says what it is. `stopped`: why it is not the whole one, if so.
Outcome told(const PlaceCommand& command, const Ranking& ranking, Stopped stopped) {
  std::string text = in_words(ranking, command.explain);
  if (stopped != Stopped::No) text += "cut short (" + name_of(stopped) + ")\n";
  const bool whole = stopped == Stopped::No && ranking.priced == ranking.matrices;
  Outcome outcome{.exit_code = whole ? kFound : exit_code_of(stopped), .text = text};
  if (!command.json.empty()) deliver(command.json, to_json(ranking), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  if (!command.emit.empty() && !ranking.best.empty()) {
    std::vector<NamedText> files = emit_placement(ranking);
    for (NamedText& file : files) {
      file.path = command.emit + "/" + file.path;
      outcome.written.push_back(file.path);
    }
    write_files(files);
  }
  return outcome;
}

}  // namespace

Outcome perform(const PlaceCommand& command, Supervisor& supervisor) {
  const std::atomic<bool>* const stop = supervisor.stop();
  require_writable_file("--json", command.json);
  require_writable_file("--html", command.html);
  if (command.json == kStandardOutput && command.html == kStandardOutput)
    throw InputError("--html", "standard output takes one file, and --json has it", "name a file");
  if (!command.emit.empty()) require_makeable_directory("--emit", command.emit);
  ProgressLine& progress = supervisor.progress();
  supervisor.want_progress(command.progress);
  progress.show("listing matrices");
  const Hierarchy machine = hierarchy(command.hierarchy, command.changes);
  const Job job = job_of(command);
  PlaceOptions options{.algorithm = command.algorithm,
                       .rules = command.rules,
                       .top = command.top,
                       .strategies = command.strategies,
                       .conditions = conditions_of(command, machine, job.axes),
                       .matrices_by_sat = command.by_sat};
  options.progress = [&](int done, int of) {
    progress.show(fmt::format("{} of {} priced", done, counted(of, "matrix", "matrices")));
    return !*stop;
  };
  options.ranked = [&](const Ranking& ranking) {
    supervisor.publish([&command, ranking](Stopped stopped) { return told(command, ranking, stopped); });
  };
  const Ranking ranking = place(machine, job, options);
  supervisor.take_floor();
  return told(command, ranking, ranking.priced == ranking.matrices ? Stopped::No : supervisor.stopped());
}

}  // namespace chorale
