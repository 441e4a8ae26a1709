// "allgather node, allgather gpu": stages with commas between, each a collective and the levels of its
// groups. Several levels are joined by '+', and a file of schedules follows '=': "allreduce node+gpu=f.json".
#include "ir/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/words.h"

namespace chorale {

namespace {

constexpr std::size_t kMostStages = 32;

// By name; outlines are written by people, so the error proposes the nearest level.
int level_in(const std::string& name, const Nesting& nesting, const std::string& where) {
  const auto at = std::ranges::find(nesting.names, name);
  if (at == nesting.names.end())
    throw InputError(where, "'" + name.substr(0, 60) + "' is not a level of this machine",
                     did_you_mean(name, nesting.names, "use one of " + joined(nesting.names)));
  return static_cast<int>(at - nesting.names.begin());
}

// "COLLECTIVE LEVEL[+LEVEL...][=FILE]". The file is named here and read by the caller.
OutlineStage stage_in(const std::string& text, const Nesting& nesting, const std::string& where) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  if (words.size() != 2)
    throw InputError(where, "'" + text.substr(0, 60) + "' is not a stage",
                     "use a collective and a level, such as 'allgather " + nesting.names.front() + "'");
  const CollectiveKind kind = known_kind(words[0]);
  const std::size_t equals = words[1].find('=');
  const std::string names = words[1].substr(0, equals);
  std::vector<int> levels;
  for (const std::string& name : split(names, '+')) {
    levels.push_back(level_in(name, nesting, where));
    if (std::ranges::count(levels, levels.back()) > 1)
      throw InputError(where, "a stage names level " + name + " twice", "name each once");
  }
  return {.kind = kind,
          .where = names,
          .groups = groups_at(nesting, levels),
          .file = equals == std::string::npos ? "" : words[1].substr(equals + 1)};
}

}  // namespace

std::string to_text(const Outline& outline) {
  std::vector<std::string> stages;
  for (const OutlineStage& stage : outline) stages.push_back(name_of(stage.kind) + " " + stage.where);
  return joined(stages);
}

// Ranks are numbers in a mixed radix, a digit per level, the innermost last. Ranks that differ only in the
// digits of the given levels are one group; its key is the rank with zeros there. Fan-outs (2, 4) and level 0
// (the outer one): {0 4}, {1 5}, {2 6}, {3 7}; level 1: {0 1 2 3}, {4 5 6 7}.
std::vector<std::vector<Rank>> groups_at(const Nesting& nesting, const std::vector<int>& levels) {
  int ranks = 1;
  for (int fan_out : nesting.fan_outs) ranks *= fan_out;
  std::map<Rank, std::vector<Rank>> groups;  // by the rank with zeros at these levels
  for (Rank n = 0; n < ranks; ++n) {
    Rank base = n;
    int stride = ranks;
    for (int j = 0; j < std::ssize(nesting.fan_outs); ++j) {
      stride /= nesting.fan_outs[j];
      if (std::ranges::find(levels, j) != levels.end()) base -= n / stride % nesting.fan_outs[j] * stride;
    }
    groups[base].push_back(n);
  }
  std::vector<std::vector<Rank>> result;
  for (auto& [base, group] : groups) result.push_back(std::move(group));
  return result;
}

// An empty text is one empty stage, which is refused.
Outline outline_in(const std::string& text, const Nesting& nesting, const std::string& where) {
  Outline outline;
  for (const std::string& stage : split(text, ',')) {
    outline.push_back(stage_in(stage, nesting, where));
    if (outline.size() > kMostStages) throw InputError(where, "has more than 32 stages", "use fewer");
  }
  return outline;
}

// The outline that a ranking of placements has in it: the groups of the first strategy of the first reduction
// that has one, in the best placement. Only these members are read, and checked as far as they are used: the
// whole of a ranking is read by ir/json_ranking.cpp.

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
  for (const JsonReader& group : json["groups"].elements(kMostPlacedItems)) {
    stage.groups.push_back(group.integers(kMostPlacedItems, 0, ranks - 1));
    for (const Rank rank : stage.groups.back()) {
      if (taken[rank])
        group.fail(fmt::format("device {} is in two groups of a step", rank), "make the ranking again");
      taken[rank] = true;
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
  for (const JsonReader& reduction : reductions.elements(kMostPlacedItems)) {
    const JsonReader strategies = reduction["strategies"];
    // An exchange, or a reduction over axes that are not split.
    if (strategies.size(kMostPlacedItems) == 0) continue;
    Outline outline;
    for (const JsonReader& each : strategies.at(0)["instructions"].elements(kMostPlacedSteps))
      outline.push_back(placed_stage(each, ranks));
    return outline;
  }
  reductions.fail("has no strategy: nothing is summed over several devices", "place a job that sums");
}

}  // namespace chorale
