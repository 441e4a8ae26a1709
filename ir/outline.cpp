// "allgather node, allgather gpu": stages with commas between, each a collective and the levels of its
// groups. Several levels are joined by '+', and a file of schedules follows '=': "allreduce node+gpu=f.json".
#include "ir/outline.h"

#include <algorithm>
#include <map>

#include "ir/error.h"
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

}  // namespace chorale
