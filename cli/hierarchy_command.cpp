#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/text.h"
#include "topology/hierarchies.h"

namespace chorale {
namespace {

std::string in_words(const std::optional<SharedPath>& path) {
  if (!path) return "-";
  return path->children == 1 ? fmt::format("{} GB/s", path->bandwidth_gbs)
                             : fmt::format("{} GB/s for {}", path->bandwidth_gbs, path->children);
}

}  // namespace

Outcome perform(const HierarchyCommand& command) {
  if (command.name.empty()) {
    std::vector<std::vector<std::string>> rows = {{"hierarchy", "example", "description"}};
    for (const CatalogueEntry& entry : hierarchy_catalogue())
      rows.push_back({entry.pattern, entry.example, entry.description});
    return {.text = table(rows, "lll")};
  }
  const Hierarchy hierarchy = load_hierarchy(command.name);
  if (command.json) return {.text = to_json(hierarchy)};
  std::vector<std::vector<std::string>> rows = {{"level", "fan-out", "shape", "ports", "GB/s each",
                                                 "latency (us)", "one stream", "way out", "detour",
                                                 "inside a node"}};
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    const Level& level = hierarchy.levels[j];
    const LinkModel& link = level.link;
    rows.push_back({level.name, fmt::format("{}", level.fan_out),
                    link.shape == LinkModel::Shape::Ring ? "ring" : "switch", fmt::format("{}", link.ports),
                    fmt::format("{}", link.bandwidth_gbs), fmt::format("{}", link.latency_us),
                    link.stream_gbs > 0 ? fmt::format("{} GB/s", link.stream_gbs) : "-", in_words(link.exit),
                    in_words(link.detour), static_cast<int>(j) >= hierarchy.node_level ? "yes" : "no"});
  }
  return {.text = fmt::format("{}: {}\n{}", hierarchy.name, counted(devices(hierarchy), "device"),
                              table(rows, "lrlrrrllll"))};
}

}  // namespace chorale
