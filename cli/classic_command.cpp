// A baseline is a result of one point, with the bounds of what it does, so that 'check', 'show' and 'run'
// take it as they take a search's. Its schedule is there before its bounds are, and is what a limit prints.
#include "api/inputs.h"
#include "api/search.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/json.h"

namespace chorale {

struct ClassicCommand {
  ClassicQuestion question = {};  // of the name "list": the catalogue
  std::string topology = {};
  MachineChanges changes = {};
  std::string json = {};
};
namespace {

std::string known_algorithms() {
  TableRows rows = {{"name", "collective", "description"}};
  for (const ClassicEntry& entry : known_classics())
    rows.push_back({name_of(entry.method), name_of(entry.collective), entry.description});
  return table(rows, "lll");
}

// The schedule is printed step by step unless a file has it. `code`: the exit code, which a limit decides.
Outcome outcome_of(const ClassicCommand& command, const Result& result, const Supervisor& supervisor,
                   int code) {
  Outcome outcome{.exit_code = code,
                  .text = heading(result) +
                          points_table(result, {0}, best_sizes(result, {}, supervisor.stop())) +
                          bound_line(result)};
  if (command.json.empty())
    outcome.text += schedule_text(result.topology, result.points.front());
  else
    deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const ClassicCommand& command, Supervisor& supervisor) {
  if (command.question.name == "list") return {.text = known_algorithms()};
  const Topology topology = machine(command.topology, command.changes);
  // Called once, when the schedule is made, with a result that has no claims.
  ClassicQuestion question = command.question;
  question.found = [&](const Result& unbounded) {
    supervisor.publish([&, unbounded](Stopped stopped) {
      return outcome_of(command, unbounded, supervisor, exit_code_of(stopped));
    });
  };
  const Result result = classic(topology, question);
  supervisor.take_floor();
  return outcome_of(command, result, supervisor, kFound);
}

// The topology is optional for CLI11, since `classic list` has none; the callback requires it otherwise.
void classic_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "classic", "A baseline (ring, tree, ...) as a result, for comparison",
      kPlainExitCodes +
          "examples:\n  chorale classic list\n  chorale classic ring_allreduce dgx1 --json ring.json");
  auto options = std::make_shared<ClassicCommand>();
  argument(sub, "name", options->question.name, "NAME|list", "An algorithm, or 'list'");
  text(sub, "topology", options->topology, "TOPOLOGY", "A machine ('chorale topology list') or a JSON file");
  integer(sub, "--chunks", options->question.chunks, 1, kMostChunks, "C",
          "Pieces of a block (the fewest that use all links which the algorithm uses at once)");
  machine_changes(sub, parsed, {&options->topology}, options->changes);
  root(sub, "--root", options->question.root);
  result_file(sub, options->json);
  limits(sub, parsed.limits, "");
  sub->final_callback([options, &parsed] {
    if (options->question.name == "list" && !options->topology.empty())
      throw InputError("classic list", "takes no machine", "leave '" + options->topology + "' out");
    if (options->question.name != "list" && options->topology.empty())
      throw InputError("classic " + options->question.name.substr(0, 60), "no machine is given",
                       "use 'chorale classic NAME TOPOLOGY'");
    accept(parsed, options);
  });
}

}  // namespace chorale
