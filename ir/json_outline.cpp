// The outline that a ranking of placements has in it: the groups of the first strategy of the first reduction
// that has one, in the best placement. Only these members are read, and checked as far as they are used: the
// whole of a ranking is read by ir/json_ranking.cpp.
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "ir/json_reader.h"
#include "ir/outline.h"

namespace chorale {
namespace {

constexpr std::size_t kMostPlacedItems = 1 << 20;  // groups, members, strategies
constexpr std::size_t kMostPlacedSteps = 32;

// Operations of strategies have the names of the paper (kOperationNames), not those of collectives.
CollectiveKind operation_in(const JsonReader& json) {
  static constexpr std::array<std::pair<const char*, CollectiveKind>, 5> kKinds = {
      {{"AllReduce", CollectiveKind::AllReduce},
       {"ReduceScatter", CollectiveKind::ReduceScatter},
       {"AllGather", CollectiveKind::Allgather},
       {"Reduce", CollectiveKind::Reduce},
       {"Broadcast", CollectiveKind::Broadcast}}};
  const std::string name = json.text();
  for (const auto& [known, kind] : kKinds)
    if (name == known) return kind;
  json.fail("unknown operation '" + name + "'", "make the ranking again");
}

// Device d is rank d. Groups of one step are disjoint; `slice` is the level's name, for people.
OutlineStage placed_stage(const JsonReader& json, int ranks) {
  OutlineStage stage{.kind = operation_in(json["operation"]), .where = json["slice"].text()};
  if (!json.has("groups"))
    json.fail("lists no groups, since the machine has too many devices", "place the job on fewer");
  std::vector<bool> taken(static_cast<std::size_t>(ranks), false);
  for (std::size_t g = 0; g < json["groups"].size(kMostPlacedItems); ++g) {
    const JsonReader group = json["groups"].at(g);
    stage.groups.emplace_back();
    for (std::size_t i = 0; i < group.size(kMostPlacedItems); ++i) {
      const Rank rank = group.at(i).integer(0, ranks - 1);
      if (taken[static_cast<std::size_t>(rank)])
        group.fail(fmt::format("device {} is in two groups of a step", rank), "make the ranking again");
      taken[static_cast<std::size_t>(rank)] = true;
      stage.groups.back().push_back(rank);
    }
  }
  return stage;
}

}  // namespace

Outline outline_from_json(std::string_view text, const std::string& file, int ranks) {
  const JsonReader json = parse_json(text, file);
  if (!json.has("chorale_ranking"))
    json.fail("is not a ranking of placements", "make one with 'chorale place ... --json FILE'");
  if (json["best"].size(kMostPlacedItems) == 0)
    json["best"].fail("has no placement", "make the ranking again");
  const JsonReader reductions = json["best"].at(0)["reductions"];
  for (std::size_t r = 0; r < reductions.size(kMostPlacedItems); ++r) {
    const JsonReader strategies = reductions.at(r)["strategies"];
    // An exchange, or a reduction over axes that are not split.
    if (strategies.size(kMostPlacedItems) == 0) continue;
    const JsonReader instructions = strategies.at(0)["instructions"];
    Outline outline;
    for (std::size_t i = 0; i < instructions.size(kMostPlacedSteps); ++i)
      outline.push_back(placed_stage(instructions.at(i), ranks));
    return outline;
  }
  reductions.fail("has no strategy: nothing is summed over several devices", "place a job that sums");
}

}  // namespace chorale
