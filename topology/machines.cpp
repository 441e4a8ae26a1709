// A machine is described in one view and requested in either; the other is made on request
// (topology/levels.h). A graph keeps its switches here; only levels are searched without them.
#include "topology/machines.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/words.h"
#include "topology/changes.h"
#include "topology/hierarchies.h"
#include "topology/import/import.h"
#include "topology/spec.h"
#include "topology/switches.h"

namespace chorale {
namespace {

bool is_kind(const std::string& spec, const std::vector<CatalogueEntry>& catalogue) {
  const std::vector<std::string> known = kinds(catalogue);
  return std::ranges::find(known, spec.substr(0, spec.find(':'))) != known.end();
}

// As it was described.
struct Described {
  std::optional<Topology> graph = {};
  std::optional<Hierarchy> levels = {};
};

Described described(const std::string& spec_or_file) {
  if (names_a_file(spec_or_file)) {
    const std::string text = read_file(spec_or_file);
    if (is_foreign(text)) return {.graph = imported({{spec_or_file, text}}).machine};
    if (parse_json(text, spec_or_file).has("hierarchy"))
      return {.levels = hierarchy_from_json(text, spec_or_file)};
    return {.graph = topology_from_json(text, spec_or_file)};
  }
  if (is_kind(spec_or_file, hierarchy_catalogue())) return {.levels = named_hierarchy(spec_or_file)};
  return {.graph = named_topology(spec_or_file)};
}

}  // namespace

const std::vector<CatalogueEntry>& machine_catalogue() {
  static const std::vector<CatalogueEntry> all = [] {
    std::vector<CatalogueEntry> both = topology_catalogue();
    both.insert(both.end(), hierarchy_catalogue().begin(), hierarchy_catalogue().end());
    return both;
  }();
  return all;
}

bool is_machine(const std::string& spec_or_file) {
  return names_a_file(spec_or_file) || is_kind(spec_or_file, machine_catalogue());
}

Topology load_topology(const std::string& spec_or_file, const MachineChanges& changes) {
  const Described machine = described(spec_or_file);
  return changed(machine.graph ? *machine.graph : graph_of(*machine.levels), changes);
}

Levels load_levels(const std::string& spec_or_file, const MachineChanges& changes) {
  Described machine = described(spec_or_file);
  if (machine.levels && !changes.any()) return {.hierarchy = std::move(machine.levels)};
  const Topology graph = changed(machine.graph ? *machine.graph : graph_of(*machine.levels), changes);
  if (graph.switches > 0 && routes_of(graph).choice != RouteChoice::All)
    return {.why_none = "has too many routes through its switches to decide"};
  return levels_of(flatten(graph));
}

Hierarchy load_hierarchy(const std::string& spec_or_file, const MachineChanges& changes) {
  const Described machine = described(spec_or_file);
  if (changes.switches.any() || (machine.graph && abilities_of(*machine.graph).any()))
    throw InputError("machine " + spec_or_file, "has switches that compute, of which placements know nothing",
                     "ask 'chorale frontier' for its algorithms, or place it without these abilities");
  Levels levels = load_levels(spec_or_file, changes);
  if (!levels.hierarchy)
    throw InputError(
        "machine " + spec_or_file, "has no levels: it " + levels.why_none,
        "placements are over equal groups of equal groups ('chorale hierarchy list'); 'chorale frontier' "
        "takes this machine as it is");
  return std::move(*levels.hierarchy);
}

}  // namespace chorale
