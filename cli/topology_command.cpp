// The one command that shows a machine with its switches: load_topology() keeps them, machine() of the API
// replaces them by routes. For such a machine a sentence names which routes other commands would take, if not
// all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <ranges>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/supervisor.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "library/groups.h"
#include "topology/machines.h"
#include "topology/switches.h"
#include "topology/text.h"

namespace chorale {
namespace {

std::string known_topologies() {
  TableRows rows = {{"machine", "example", "description"}};
  for (const CatalogueEntry& entry : known_machines())
    rows.push_back({entry.pattern, entry.example, entry.description});
  return table(rows, "lll");
}

// Which of a machine's routes the search uses where there are too many for all (topology/switches.h). Fewer
// routes may cost schedules, and never make a bound wrong: bounds are over all of them.
std::string ways_in_words(const Topology& topology) {
  if (topology.switches == 0) return "";
  const ChosenRoutes taken = routes_of(topology);
  const auto chosen = [&](const std::string& which) {
    return fmt::format("routes through its switches: {} of too many, {}; bounds are over all routes\n",
                       taken.routes.size(), which);
  };
  switch (taken.choice) {
    case RouteChoice::All:
      return "";
    case RouteChoice::None:
      return "routes through its switches: too many to be chosen from; commands that need them refuse it\n";
    case RouteChoice::Shortest:
      return chosen("the shortest between each two ranks");
    case RouteChoice::OneEach:
      return chosen("one between each two ranks");
    case RouteChoice::OneHop:
      return chosen("one between two ranks below one switch, or with the same position below theirs");
    case RouteChoice::OneDigit:
      return chosen("one between two ranks whose positions differ on one tier of switches");
    case RouteChoice::PowersOfTwo:
      return chosen("one between two ranks whose positions on one tier are a power of two apart");
  }
  return "";
}

// {"levels": [{"level": "all", "groups": [[ranks]], "machines": {"16": machine}}, ...]}: all ranks, then each
// level by its name; of each number of ranks that its groups have the first group as a machine of its own.
std::string levels_as_json(const std::string& spec_or_file, const MachineChanges& changes) {
  const Topology whole = machine(spec_or_file, changes);
  RankGroup all(whole.ranks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::pair<std::string, std::vector<RankGroup>>> levels = {{"all", {all}}};
  if (const std::optional<Nesting> nested = nesting_if_any(spec_or_file, changes))
    for (int level = 0; level < std::ssize(nested->names); ++level)
      levels.emplace_back(nested->names[level], groups_at(*nested, {level}));
  std::vector<std::string> texts;
  for (const auto& [name, groups] : levels) {
    std::vector<std::string> lists;
    std::map<std::size_t, std::string> machines;
    for (const RankGroup& group : groups) {
      lists.push_back(list(group));
      if (std::string& one = machines[group.size()]; one.empty())
        one = fmt::format("\"{}\":{}", group.size(), to_json(group_of(whole, name, group)));
    }
    texts.push_back(fmt::format("{{\"level\":{},\"groups\":[{}],\"machines\":{{{}}}}}", quoted(name),
                                fmt::join(lists, ","), fmt::join(machines | std::views::values, ",")));
  }
  return fmt::format("{{\"levels\": {}}}\n", lines(texts, ""));
}

}  // namespace

// Text, DOT and JSON have the machine as described, with its switches; the page has the routes between ranks
// (to_page flattens), as all other output does.
Outcome perform(const TopologyCommand& command, Supervisor& supervisor) {
  if (command.name.empty()) return {.text = known_topologies()};
  const Topology topology = load_topology(command.name, command.changes);
  const Levels levels = load_levels(command.name, command.changes);
  Outcome outcome;
  if (!command.html.empty()) deliver(command.html, to_page(topology, supervisor.stop()), outcome);
  switch (command.form) {
    case TopologyCommand::Form::Dot:
      outcome.document = to_dot(topology, levels.hierarchy ? &*levels.hierarchy : nullptr);
      break;
    case TopologyCommand::Form::Json:
      outcome.document = to_json(topology);
      break;
    case TopologyCommand::Form::Levels:
      outcome.document = levels_as_json(command.name, command.changes);
      break;
    case TopologyCommand::Form::Text:
      outcome.text = describe(topology) + ways_in_words(topology) + describe(levels);
      break;
  }
  return outcome;
}

}  // namespace chorale
