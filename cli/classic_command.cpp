// A baseline is a result of one point, with the bounds of what it does, so that 'check', 'show' and 'run'
// take it as they take a search's. Its schedule is there before its bounds are, and is what a limit prints.
#include "api/inputs.h"
#include "api/search.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/json.h"

namespace chorale {
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

}  // namespace chorale
