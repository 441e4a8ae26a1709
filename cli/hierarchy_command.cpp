// A row per level, outermost first, as the machine's description has them. An exit or a detour is a shared
// path: "25 for 4" is 25 GB/s for four children together.
//
// "each" is the rate of one port or ring link in one direction, and "one stream" the most that one flow gets,
// where that is less than all ports. In a ring a detour is the path between children that are not neighbours.
#include <fmt/format.h>

#include "api/inputs.h"
#include "api/place.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "ir/enum_names.h"
#include "ir/words.h"

namespace chorale {

struct HierarchyCommand {
  std::string name = {};
  MachineChanges changes = {};
  bool json = false;
};
namespace {

std::string in_words(const std::optional<SharedPath>& path) {
  if (!path) return "-";
  return path->children == 1 ? fmt::format("{:.6g}", path->bandwidth_gbs)
                             : fmt::format("{:.6g} for {}", path->bandwidth_gbs, path->children);
}

std::string in_words(const Hierarchy& hierarchy) {
  TableRows rows = {
      {"level", "fan-out", "shape", "ports", "each", "latency", "one stream", "uplink", "detour"}};
  std::vector<std::string> inside;
  std::string hosts;
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    const Level& level = hierarchy.levels[j];
    const LinkModel& link = level.link;
    rows.push_back({level.name, fmt::format("{}", level.fan_out),
                    name_in<LinkModel::Shape>(kShapes, link.shape), fmt::format("{}", link.ports),
                    fmt::format("{:.6g}", link.bandwidth_gbs), fmt::format("{:.6g}", link.latency_us),
                    link.stream_gbs > 0 ? fmt::format("{}", link.stream_gbs) : "-", in_words(link.exit),
                    in_words(link.detour)});
    // The path over the host: the links up to its memory, and those between its sockets.
    if (link.host)
      hosts +=
          fmt::format("{} host: {} up to memory and down, {} between sockets\n", level.name,
                      in_words(std::optional(link.host->uplink)), in_words(std::optional(link.host->socket)));
    if (static_cast<int>(j) >= hierarchy.node_level) inside.push_back(level.name);
  }
  return fmt::format("{}: {}{}; rates in GB/s, latencies in us\n{}{}inside a node: {}\n", hierarchy.name,
                     counted(devices(hierarchy), "device"), call_in_words(hierarchy.call_us),
                     table(rows, "lrlrrrlll"), hosts, inside.empty() ? "nothing" : joined(inside));
}

std::string listed_hierarchies() {
  return table(rows_of(known_hierarchies()), "lll");
}

}  // namespace

Outcome perform(const HierarchyCommand& command, Supervisor&) {
  const Hierarchy machine = hierarchy(command.name, command.changes);
  if (command.json) return {.document = to_json(machine)};
  return {.text = in_words(machine)};
}

void hierarchy_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(app, "hierarchy", "List the machines that have levels, or show one",
                                kPlainExitCodes +
                                    "examples:\n  chorale hierarchy list\n  chorale hierarchy show a100:4 "
                                    "--json\n  chorale hierarchy show dgx-a100:4");
  sub->require_subcommand(1);
  prints(sub->add_subcommand("list", "The built-in machines that have levels"), parsed, listed_hierarchies);
  CLI::App* const show = sub->add_subcommand("show", "One machine by its levels");
  auto options = values_of<HierarchyCommand>(show, parsed);
  argument(show, "name", options->name, "NAME|FILE", "A machine ('chorale hierarchy list') or a JSON file");
  show->add_flag("--json", options->json, "As a file to edit (docs/formats.md)");
  machine_changes(show, parsed, {&options->name}, options->changes);
  limits(show, parsed.limits, "");
}

}  // namespace chorale
