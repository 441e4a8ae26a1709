// Points are listed with the outline that made each: "0: allgather node, allgather gpu". The search publishes
// what it has composed so far, so a limit loses no point.
#include <fmt/format.h>

#include "api/compose.h"
#include "api/inputs.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"

namespace chorale {

struct ComposeCommand {
  QuestionSettings question = {};
  std::string outline = {};     // "allgather node, allgather gpu"; empty: all that are known
  ComposeOptions options = {};  // without the outline
  std::string json = {};
};
namespace {

// Only points on the frontier are listed; the file has all.
Outcome outcome_of(const ComposeCommand& command, const Composition& composition,
                   const Supervisor& supervisor) {
  const Result& result = composition.result;
  const std::vector<int> listed = chosen_points("", result, {}, false);
  std::string text = heading(result);
  if (!listed.empty()) text += points_table(result, listed, best_sizes(result, {}, supervisor.stop()));
  // By the numbers of the table, which those of the file are.
  for (int i : listed) text += fmt::format("{}: {}\n", i, composition.outlines[i]);
  Outcome outcome{.exit_code = exit_code_of(supervisor.stopped()), .text = text + bound_line(result)};
  if (!command.json.empty()) deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const ComposeCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.question.machine, command.question.changes);
  const Collective collective = chorale::collective(command.question.collective, topology, command.question);
  // Without an outline all known ones are tried, so the first point may come long before the last.
  ComposeOptions options = command.options;
  options.stop = supervisor.stop();
  options.found = [&](const Composition& so_far) {
    supervisor.publish([&, so_far](Stopped) { return outcome_of(command, so_far, supervisor); });
    supervisor.progress().show(
        fmt::format("{}; composing", counted(std::ssize(so_far.result.points), "point")));
  };
  if (!command.outline.empty())
    options.outline = read_outline(command.outline, command.question.machine, command.question.changes);
  const Composition composition = compose(topology, collective, options);
  supervisor.take_floor();
  // No division fits, which more time would not change; or a limit came before the first one, which it would.
  if (composition.result.points.empty() && supervisor.stopped() == Stopped::No)
    throw InputError("compose " + command.question.machine,
                     "no division of the machine into equal groups makes this " + name_of(collective),
                     "use 'chorale frontier', or give stages with --outline");
  if (composition.result.points.empty())  // a result of no schedule is none
    return {.exit_code = exit_code_of(supervisor.stopped()),
            .errors = {InputError("compose " + command.question.machine,
                                  "nothing was composed (" + name_of(supervisor.stopped()) + ")",
                                  "raise --time-limit")
                           .what()}};
  return outcome_of(command, composition, supervisor);
}

void compose_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "compose", "Compose schedules of groups to schedules of the machine (hierarchical composition)",
      "An outline lists, stage by stage, what groups do side by side; stages overlap where they can. Levels\n"
      "are those of 'chorale topology show', or rank and node; LEVEL=FILE takes the schedules of a result.\n"
      "Without one all known outlines are tried. 'chorale frontier' begins with these, too.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compose dgx-a100:2 allgather --max-chunks 2\n"
          "  chorale compose a100:2 allgather --outline \"allgather node, allgather gpu\"");
  auto options = std::make_shared<ComposeCommand>();
  machine_and_collective(sub, parsed, options->question);
  text(sub, "--outline", options->outline, "STAGES",
       "Stages COLLECTIVE LEVEL[+LEVEL][=FILE], with commas between, or a ranking that 'place --json' wrote "
       "(all known outlines)");
  // The rows of a frontier, set in another struct: a composition has its own default, one chunk count.
  OptionWords most = row_of(frontier_rows(), "max_chunks").words;
  most.by_default = "1, or --min-chunks";
  const OptionRow<FrontierOptions>& least = row_of(frontier_rows(), "min_chunks");
  by_row(sub, most, help_of(most, 1),
         {.set = [options](std::int64_t c) { options->options.max_chunks = static_cast<int>(c); }});
  by_row(sub, least.words, help_of(least),
         {.set = [options](std::int64_t c) { options->options.min_chunks = static_cast<int>(c); }});
  result_file(sub, options->json);
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
  sub->final_callback([options, sub, &parsed] {
    // Not given, the most is the least: one chunk count, by default one chunk.
    if (sub->count("--max-chunks") == 0)
      options->options.max_chunks = std::max(1, options->options.min_chunks);
    require_consistent({.min_chunks = options->options.min_chunks, .max_chunks = options->options.max_chunks},
                       flag_of);
    accept(parsed, options);
  });
}

}  // namespace chorale
