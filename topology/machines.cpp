// A machine is described in one view and requested in either; the other is made on request
// (topology/levels.h). A graph keeps its switches here; only levels are searched without them.
#include "topology/machines.h"

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/links_alone.h"
#include "topology/changes.h"
#include "topology/cuts_to_levels.h"
#include "topology/hardware/computing.h"
#include "topology/import/host.h"
#include "topology/import/import.h"
#include "topology/import/words.h"
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
  int nodes = 0;  // of a graph from a file of another tool, with equally many ranks; 0: not known
};

// An option that would change nothing is an error, and not ignored.
void require_no_import(const std::string& spec, ImportOptions options, bool by_name) {
  options.line_rates = options.line_rates && !by_name;
  options.in_network = options.in_network && !by_name;
  options.forward_only = false;
  if (options == ImportOptions()) return;
  for (const OptionRow<ImportOptions>& row : import_rows())
    if (!is_default(row, options))
      throw InputError(std::string(row.words.option),
                       "is for files of other tools, and " + spec.substr(0, 60) + " is none",
                       "leave it out ('chorale topology list' has machines of several nodes by name)");
}

// A machine by name, at the rates that are asked for; line rates are refused of one that has no others.
template <typename Machine>
Machine at_rates(const std::string& spec, const ImportOptions& options,
                 Machine named(const std::string&, RateKind)) {
  Machine machine = named(spec, RateKind::Effective);
  if (!options.line_rates) return machine;
  Machine at_line = named(spec, RateKind::Line);
  if (at_line == machine)
    throw InputError("--line-rates", spec.substr(0, 60) + " has the same rates without it", "leave it out");
  return at_line;
}

// A file of another tool, a file in either view, a named hierarchy, or else a named graph. Changes of parts
// that such a file names are made, and taken out of the changes.
Described described(const std::string& spec_or_file, MachineChanges& changes) {
  const ImportOptions& options = changes.import;
  if (names_a_file(spec_or_file)) {
    const std::string text = read_file(spec_or_file);
    if (is_foreign(text)) {
      Import import = imported({{spec_or_file, text}}, options, &changes);
      return {.graph = std::move(import.machine), .nodes = import.nodes};
    }
    require_no_import(spec_or_file, options, false);
    if (parse_json(text, spec_or_file).has("hierarchy"))
      return {.levels = hierarchy_from_json(text, spec_or_file)};
    return {.graph = topology_from_json(text, spec_or_file)};
  }
  require_no_import(spec_or_file, options, true);
  if (is_kind(spec_or_file, hierarchy_catalogue())) {
    Hierarchy levels = at_rates(spec_or_file, options, named_hierarchy);
    if (options.in_network && levels.levels.back().link.switch_gain == 0)
      throw no_computing_switches(spec_or_file.substr(0, 60));
    return {.levels = options.forward_only ? by_links_alone(std::move(levels)) : std::move(levels)};
  }
  Topology graph = at_rates(spec_or_file, options, named_topology);
  const ComputingNodes computing = computing_nodes(spec_or_file);
  if (computing.nodes == 0 && options.in_network) throw no_computing_switches(spec_or_file.substr(0, 60));
  std::vector<Node> able;
  for (int i = 0; i < computing.nodes; ++i) able.push_back(graph.ranks + i);
  if (!able.empty()) compute_at(graph, able, *computing.gpu, options);
  return {.graph = std::move(graph)};
}

// A part twice would slow down what is slow already; of the others it is a slip.
void require_once(const char* option, const std::vector<std::string>& all) {
  std::set<std::string> names;
  for (const std::string& each : all)
    if (const std::string name = each.substr(0, each.find('=')); !names.insert(lower_case(name)).second)
      throw InputError(option, "'" + name.substr(0, 60) + "' is there more than once", "leave one out");
}

// The machine without the failure that its name has, and the changes with it.
std::pair<std::string, MachineChanges> with_failure(const std::string& spec_or_file, MachineChanges changes) {
  const NamedChanges named = split_failure(spec_or_file);
  // The failure that the name has comes before the changes by options.
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.begin(), more.begin(), more.end());
  };
  append(changes.without_links, named.changes.without_links);
  append(changes.without_ranks, named.changes.without_ranks);
  require_once("--without-link", changes.without_links);
  require_once("--without-rank", changes.without_ranks);
  require_once("--degrade", changes.degraded);
  return {named.machine, std::move(changes)};
}

// By cuts where the machine has switches; exact ones are better, but need not be searched for long then.
Levels levels_of_either(const Topology& graph) {
  constexpr int kMostExactRanks = 256;
  Levels levels = graph.switches > 0 ? levels_by_cuts(graph) : Levels();
  if (levels.hierarchy && graph.ranks > kMostExactRanks) return levels;
  const bool unexplained = !levels.hierarchy && levels.why_none.empty();
  if (graph.switches > 0 && routes_of(graph).choice != RouteChoice::All)
    return unexplained ? Levels{.why_none = "has too many routes through its switches to decide"} : levels;
  Levels exact = levels_of(flatten(graph), levels.hierarchy ? kQuickLevelWork : kMostLevelWork);
  return exact.hierarchy || unexplained ? exact : levels;
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
  const std::string machine = split_failure(spec_or_file).machine;
  return names_a_file(machine) || is_kind(machine, machine_catalogue());
}

Topology load_topology(const std::string& spec_or_file, const MachineChanges& more) {
  auto [spec, changes] = with_failure(spec_or_file, more);
  const Described machine = described(spec, changes);
  return changed(machine.graph ? *machine.graph : graph_of(*machine.levels), changes);
}

// A hierarchy without changes is returned as it is; a changed one is a graph first, and may have no levels
// any more.
Levels load_levels(const std::string& spec_or_file, const MachineChanges& more) {
  auto [spec, changes] = with_failure(spec_or_file, more);
  Described machine = described(spec, changes);
  if (machine.levels && !changes.any()) {
    machine.levels->call_us = changes.call_us.value_or(machine.levels->call_us);
    return {.hierarchy = std::move(machine.levels)};
  }
  const Topology graph = changed(machine.graph ? *machine.graph : graph_of(*machine.levels), changes);
  // What the innermost switches can do besides is a number of their level.
  const double gain = graph.switch_gain;
  Levels levels = levels_of_either(gain > 0 ? by_links_alone(graph) : graph);
  if (levels.hierarchy) {
    levels.hierarchy->name = graph.name;
    levels.hierarchy->call_us = graph.call_us;
    levels.hierarchy->levels.back().link.switch_gain = gain;
  }
  if (levels.hierarchy && machine.nodes > 0 && !changes.any())
    name_levels(*levels.hierarchy, graph, machine.nodes);
  return levels;
}

// Placements price switches that compute by what they deliver, so one without such a limit is refused.
Hierarchy load_hierarchy(const std::string& spec_or_file, const MachineChanges& changes) {
  auto [spec, mine] = with_failure(spec_or_file, changes);
  const Described machine = described(spec, mine);
  const bool able = machine.graph && abilities_of(*machine.graph).any() && machine.graph->switch_gain == 0;
  if (changes.switches.any() || (able && !changes.import.forward_only))
    throw InputError("machine " + spec_or_file,
                     "has switches that compute without a limit (switch_gain), which placements do not price",
                     "ask 'chorale frontier' for its algorithms, or place it with --switches-forward-only");
  Levels levels = load_levels(spec_or_file, changes);
  if (!levels.hierarchy)
    throw InputError(
        "machine " + spec_or_file, "has no levels: it " + levels.why_none,
        "placements are over equal groups of equal groups ('chorale hierarchy list'); 'chorale frontier' "
        "takes this machine as it is");
  return std::move(*levels.hierarchy);
}

}  // namespace chorale
