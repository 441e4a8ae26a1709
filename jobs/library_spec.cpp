// A specification lists machines, groups, collectives and options; every combination is an entry, and equal
// questions become one. To find equal ones fast a question is made once per text of a part, collective and
// root: the eight nodes of a machine are one text. With failures each machine comes again after each single
// failure.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/inputs.h"
#include "api/machines.h"
#include "cost/busbw.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "jobs/library.h"
#include "topology/changes.h"
#include "topology/machines.h"

namespace chorale {
namespace {

constexpr std::size_t kMostNamesOfASpec = 1000;
constexpr long long kMostBytesOfASpec = 1LL << 40;

// By the kind of its row: a new option of a search is a key of specifications without a change here.
void read_option(const JsonReader& json, const OptionRow<FrontierOptions>& row, FrontierOptions& options) {
  const OptionWords& words = row.words;
  switch (words.kind) {
    case OptionKind::Integer:
    case OptionKind::Size:
      row.member.set(options, json.long_integer(words.least, words.most));
      break;
    // Seconds in files, milliseconds in options.
    case OptionKind::Duration: {
      const double most = static_cast<double>(words.most) / 1000;
      row.member.set(options, milliseconds_in(words, json.number(0.001, most), words.name));
      break;
    }
    case OptionKind::Switch:
      row.member.set(options, json.boolean());
      break;
    case OptionKind::Choice:
      row.member.set(options, choice_named(words, json.text(), json.where()));
      break;
    case OptionKind::Number:
      row.member.number(options) = json.number(words.lowest, words.highest);
      break;
    case OptionKind::Text:
      row.member.text(options) = json.text();
      break;
  }
}

FrontierOptions options_in(const JsonReader& json) {
  FrontierOptions options;
  for (const OptionRow<FrontierOptions>& row : question_rows())
    if (const std::string key(key_of(row.words)); json.has(key.c_str()))
      read_option(json[key.c_str()], row, options);
  require_consistent(
      options, [](const OptionWords& words) { return std::string(key_of(words)); }, json.where() + ": ");
  return options;
}

// Sizes of messages, each once and rising; each collective has its own block of that size.
std::vector<std::int64_t> sizes_in(const JsonReader& json) {
  std::vector<std::int64_t> result;
  for (const JsonReader& each : json.elements(kMostNamesOfASpec))
    result.push_back(each.long_integer(1, kMostBytesOfASpec));
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// Names of the machine after each single failure, "ring:4 without link 0-1", which are read as any other.
// Failures that cut a rank off are left out: no algorithm is ready for them.
std::vector<std::string> failed_machines(const std::string& spec) {
  std::vector<std::string> failed;
  for (const std::string& failure : single_failures(load_topology(spec)))
    if (const std::string name = spec + " without " + failure; all_reach_all(machine(name)))
      failed.push_back(name);
  return failed;
}

}  // namespace

std::vector<std::string_view> spec_keys() {
  std::vector<std::string_view> keys = {"machines", "collectives", "groups", "roots", "bytes", "order"};
  for (const OptionRow<FrontierOptions>& row : question_rows()) keys.push_back(key_of(row.words));
  return keys;
}

// Three loops: machines with their groups, members of a group, collectives with their roots. Roots that a
// group is too small for are skipped, since a specification has groups of several sizes.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file,
                                               bool failures) {
  const JsonReader json = parse_json(text, file);
  json.require_object(spec_keys());
  const FrontierOptions options = options_in(json);
  const std::string order = json.has("order") ? json["order"].text() : "";
  // Answers serve preloaded programs, whose ranks have to end with the same bits.
  if (order == "free") json["order"].fail("lets ranks end with different bits", "use 'agreed' or 'fixed'");
  const std::vector<std::int64_t> bytes =
      json.has("bytes") ? sizes_in(json["bytes"]) : std::vector<std::int64_t>{};
  const std::vector<int> roots =
      json.has("roots") ? json["roots"].integers(kMostNamesOfASpec, 0, 1'000'000) : std::vector<int>{0};
  const std::vector<std::string> all_groups =
      json.has("groups") ? json["groups"].texts(kMostNamesOfASpec) : std::vector<std::string>{"all"};
  std::vector<std::pair<std::string, std::vector<std::string>>> specs;  // with their groups
  for (const std::string& spec : json["machines"].texts(kMostNamesOfASpec)) {
    specs.emplace_back(spec, all_groups);
    if (!failures) continue;
    // Levels are asked of the whole machine only.
    for (const std::string& failed : failed_machines(spec))
      specs.emplace_back(failed, std::vector<std::string>{"all"});
  }
  std::vector<LibraryQuestion> questions;
  std::map<std::string, std::size_t> known;  // by text
  std::map<std::pair<std::string, std::string>, LibraryQuestion>
      asked;  // by machine and collective as they are numbered
  for (const auto& [spec, groups] : specs) {
    const Topology whole = machine(spec);
    const std::vector<int> all_hosts = hosts_of(spec);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto refuse = [&](const std::string& problem, const std::string& remedy) {
        (json.has("groups") ? json["groups"].at(g) : json).fail(problem, remedy);
      };
      for (const RankGroup& members : groups_named(groups[g], spec, whole, refuse)) {
        const Topology part = group_of(whole, groups[g], members);
        const std::vector<int> hosts = hosts_at(all_hosts, members);
        const std::string part_text = to_json(without_names(part));
        for (const std::string& name : json["collectives"].texts(kMostNamesOfASpec))
          for (const int root : is_rooted(known_kind(name)) ? roots : std::vector<int>{0}) {
            if (root >= part.ranks) continue;  // roots of larger groups
            const auto [alike, is_first] = asked.try_emplace({part_text, fmt::format("{} {}", name, root)});
            if (is_first) {
              alike->second = library_question(
                  part,
                  collective(name, part,
                             {.root = is_rooted(known_kind(name)) ? std::optional(root) : std::nullopt,
                              .order = is_combining(known_kind(name)) ? order : ""}),
                  options);
              // Times are predicted for blocks: a message of 1 MiB is another block of each collective.
              alike->second.bytes = blocks_of_sizes(alike->second.collective, bytes);
            }
            const auto [at, is_new] = known.emplace(alike->second.text, questions.size());
            if (is_new) questions.push_back(alike->second);
            const AnswerPlace place{.machine = spec,
                                    .group = groups[g],
                                    .collective = name,
                                    .ranks = part.ranks,
                                    .root = root,
                                    .hosts = hosts,
                                    .members = in_words(members),
                                    .numbering = to_json(alike->second.numbering)};
            // The nodes of a machine are one place as long as they are numbered equally.
            const auto same = [&](const AnswerPlace& other) {
              return other.machine == place.machine && other.group == place.group &&
                     other.collective == place.collective && other.root == place.root &&
                     other.hosts == place.hosts && other.numbering == place.numbering;
            };
            std::vector<AnswerPlace>& places = questions[at->second].places;
            if (std::ranges::none_of(places, same)) places.push_back(place);
          }
      }
    }
  }
  return questions;
}

}  // namespace chorale
