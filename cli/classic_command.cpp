#include "bounds/lower_bounds.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "construct/classic.h"
#include "ir/json.h"
#include "pareto/search.h"

namespace chorale {
namespace {

std::string known_algorithms() {
  std::vector<std::vector<std::string>> rows = {{"name", "collective", "description"}};
  for (const ClassicEntry& entry : classic_catalogue())
    rows.push_back({name_of(entry.method), name_of(entry.collective), entry.description});
  return table(rows, "lll");
}

// With the bounds of its collective, so that one sees how far from the best it is.
Result as_result(const Topology& topology, const Point& point) {
  const int chunks = point.cost.chunks;
  const Collective& asked = point.collective;
  Result result{.kind = ResultKind::Algorithm,
                .topology = topology,
                .collective = make_collective(asked.kind, asked.ranks, 1, asked.root),
                .space = {.min_chunks = chunks, .max_chunks = chunks},
                .points = {point}};
  const StepBound steps = fewest_steps(topology, asked);
  if (steps.steps > 0) result.claims = {steps.claim, fewest_rounds(topology, asked)};
  finish_result(result);
  return result;
}

}  // namespace

Outcome perform(const ClassicCommand& command, Supervisor& supervisor) {
  if (command.name == "list") return {.text = known_algorithms()};
  require_writable_file("--json", command.json);
  const Topology topology = machine(command.topology);
  const Point point = classic_algorithm(
      command.name, topology, {.chunks = command.chunks, .order = {}, .root = command.root.value_or(0)});
  require_rooted("--root", point.collective.kind, command.root);
  const Result result = as_result(topology, point);
  supervisor.take_floor();
  Outcome outcome{.text = heading(result) + points_table(result, {0}, {}) + bound_line(result)};
  if (command.json.empty())
    outcome.text += schedule_text(topology, point);
  else
    deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace chorale
