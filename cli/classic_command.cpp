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
  std::vector<std::vector<std::string>> rows = {{"name", "collective", "description"}};
  for (const ClassicEntry& entry : known_classics())
    rows.push_back({name_of(entry.method), name_of(entry.collective), entry.description});
  return table(rows, "lll");
}

}  // namespace

Outcome perform(const ClassicCommand& command, Supervisor& supervisor) {
  if (command.name == "list") return {.text = known_algorithms()};
  require_writable_file("--json", command.json);
  const Topology topology = machine(command.topology, command.changes);
  const Result result =
      classic(topology, {.name = command.name, .chunks = command.chunks, .root = command.root});
  supervisor.take_floor();
  Outcome outcome{.text = heading(result) + points_table(result, {0}, {}) + bound_line(result)};
  if (command.json.empty())
    outcome.text += schedule_text(topology, result.points.front());
  else
    deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace chorale
