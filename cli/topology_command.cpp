#include "api/inputs.h"
#include "cli/commands.h"
#include "cli/layout.h"
#include "ir/json.h"
#include "topology/dot.h"
#include "topology/machines.h"
#include "topology/text.h"

namespace chorale {
namespace {

std::string known_topologies() {
  std::vector<std::vector<std::string>> rows = {{"machine", "example", "description"}};
  for (const CatalogueEntry& entry : known_machines())
    rows.push_back({entry.pattern, entry.example, entry.description});
  return table(rows, "lll");
}

}  // namespace

// Shown as described, with its switches; everything else works on the flattened machine.
Outcome perform(const TopologyCommand& command, Supervisor&) {
  if (command.name.empty()) return {.text = known_topologies()};
  const Topology topology = load_topology(command.name);
  const Levels levels = load_levels(command.name);
  switch (command.form) {
    case TopologyCommand::Form::Dot:
      return {.document = to_dot(topology, levels.hierarchy ? &*levels.hierarchy : nullptr)};
    case TopologyCommand::Form::Json:
      return {.document = to_json(topology)};
    case TopologyCommand::Form::Text:
      break;
  }
  return {.text = describe(topology) + describe(levels)};
}

}  // namespace chorale
