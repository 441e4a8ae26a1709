// Points are listed with the outline that made each: "0: allgather node, allgather gpu". The search publishes
// what it has composed so far, so a limit loses no point.
#include <fmt/format.h>

#include "api/compose.h"
#include "api/inputs.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"

namespace chorale {
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
  supervisor.want_progress(command.progress);
  const Topology topology = machine(command.question.machine, command.question.changes);
  const Collective collective = communication(command.question.collective, topology, command.question);
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

}  // namespace chorale
