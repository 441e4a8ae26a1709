#include "api/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "api/compose.h"
#include "api/inputs.h"
#include "api/report.h"
#include "api/search.h"
#include "ir/embedding.h"
#include "ir/error.h"
#include "ir/hierarchy.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/words.h"
#include "pareto/refereed.h"
#include "symmetry/automorphisms.h"
#include "topology/machines.h"

namespace chorale {
namespace {

constexpr std::size_t kMostNamesOfASpec = 1000;
constexpr int kMostChunksOfASpec = 4096;
constexpr int kMostCubesOfASpec = 4096;
constexpr long long kMostBytesOfASpec = 1LL << 40;

bool has_numbers_of_its_own(const Topology& topology, const Collective& collective) {
  return !topology.underlay && topology.switches == 0 && !is_custom(collective);
}

// The machine that a question is about, in the numbers that it has by itself.
Topology numberless(const Topology& topology, const Collective& collective, const Renumbering& numbering) {
  return without_names(has_numbers_of_its_own(topology, collective) ? renumbered(topology, numbering)
                                                                    : topology);
}

std::string subject_of(const Topology& topology, const Collective& collective, const Renumbering& numbering) {
  return to_json(numberless(topology, collective, numbering)) +
         to_json(has_numbers_of_its_own(topology, collective) ? renumbered(collective, numbering)
                                                              : collective);
}

// All that the stored result says itself, so that check_answer() can say it again.
std::string head_of(const std::string& subject, const Space& space) {
  return fmt::format("{}\nchunks {} {} steps {} rounds {} extra {}\n", subject, space.min_chunks,
                     space.max_chunks, space.max_steps, space.max_rounds, space.extra_rounds);
}

std::string text_of(const std::string& subject, const FrontierOptions& asked) {
  const SynthesisOptions& how = asked.synthesis;
  // As the result of a search says it.
  const Space space{.min_chunks = asked.min_chunks,
                    .max_chunks = asked.max_chunks,
                    .max_steps = asked.max_steps,
                    .extra_rounds = asked.extra_rounds};
  return head_of(subject, space) + (how.cubes > 0 ? fmt::format("cubes {} ", how.cubes) : "") +
         fmt::format("conflicts {} ms {} bounds {} symmetry {} seed {} version {}\n", how.limits.conflicts,
                     asked.time_limit.count(), how.use_bounds, how.use_symmetry, how.seed, kResultVersion);
}

std::vector<std::string> texts(const JsonReader& json) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < json.size(kMostNamesOfASpec); ++i) result.push_back(json.at(i).text());
  return result;
}

struct Group {
  Topology topology = {};
  std::vector<Rank> members = {};
  std::vector<int> hosts = {};
};

// The hosts of these ranks, numbered as they come.
std::vector<int> hosts_at(const std::vector<int>& hosts, const std::vector<Rank>& ranks) {
  std::vector<int> result;
  std::map<int, int> numbers;
  if (!hosts.empty())
    for (const Rank n : ranks)
      result.push_back(numbers.emplace(hosts.at(n), static_cast<int>(numbers.size())).first->second);
  return result;
}

// Pairs that are linked both ways, which are those that can do a collective by themselves.
std::vector<std::vector<Rank>> linked_pairs(const Topology& whole) {
  std::vector<std::vector<Rank>> result;
  for (Rank a = 0; a < whole.ranks; ++a)
    for (Rank b = a + 1; b < whole.ranks; ++b)
      if (find_link(whole, a, b) >= 0 && find_link(whole, b, a) >= 0) result.push_back({a, b});
  return result;
}

// The groups that are meant, one after the other.
std::vector<Group> groups_named(const std::string& name, const std::string& spec, const Topology& whole,
                                const JsonReader& place) {
  const std::vector<int> hosts = hosts_of(spec);
  if (name == "all") return {{.topology = whole, .members = no_renumbering(whole).ranks, .hosts = hosts}};
  std::vector<std::vector<Rank>> groups;
  if (name == "pairs") {
    groups = linked_pairs(whole);
    if (groups.empty()) place.fail("no two ranks of " + spec + " are linked both ways", "leave pairs out");
  } else {
    const Nesting nested = nesting(spec);
    std::vector<int> levels;
    std::string known = "all, pairs";
    for (std::size_t j = 0; j < nested.names.size(); ++j) {
      known += ", " + nested.names[j];
      if (nested.names[j] == name) levels = {static_cast<int>(j)};
    }
    if (levels.empty()) place.fail("'" + name + "' is no group of " + spec, "use one of " + known);
    groups = groups_at(nested, levels);
  }
  std::vector<Group> result;
  for (const std::vector<Rank>& ranks : groups)
    result.push_back({.topology = part_at(whole, ranks), .members = ranks, .hosts = hosts_at(hosts, ranks)});
  return result;
}

FrontierOptions options_in(const JsonReader& json) {
  FrontierOptions options;
  if (json.has("max_chunks")) options.max_chunks = json["max_chunks"].integer(1, kMostChunksOfASpec);
  if (json.has("min_chunks")) options.min_chunks = json["min_chunks"].integer(1, options.max_chunks);
  if (json.has("k")) options.extra_rounds = json["k"].integer(0, 100'000);
  if (json.has("max_steps")) options.max_steps = json["max_steps"].integer(1, 100'000);
  if (json.has("conflicts"))
    options.synthesis.limits.conflicts = json["conflicts"].long_integer(0, 1'000'000'000'000);
  if (json.has("cubes")) {
    options.synthesis.cubes = json["cubes"].integer(2, kMostCubesOfASpec);
    if (!json.has("conflicts"))
      json["cubes"].fail("has no conflicts, and what takes more of them is cut", "add \"conflicts\"");
  }
  if (json.has("seconds"))
    options.time_limit = std::chrono::milliseconds(
        static_cast<long long>(std::max(1.0, 1000 * json["seconds"].number(0.001, 3.6e6))));
  return options;
}

std::vector<std::int64_t> sizes_in(const JsonReader& json) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < json.size(kMostNamesOfASpec); ++i)
    result.push_back(json.at(i).long_integer(1, kMostBytesOfASpec));
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// By the numbers of the question. Nothing is to be done where they are those of the search.
Result with_numbers_of(const StoredAnswer& stored, const Renumbering& numbering, const Topology* topology,
                       const std::string& file) {
  Result result = result_of(stored, file);
  const Renumbering by = renumbering_from_json(stored.numbering, file);
  if (by.ranks.size() != numbering.ranks.size() || by.links.size() != numbering.links.size())
    throw InputError(file, "has an answer of another machine", "see 'chorale library verify'");
  const Renumbering all = compose(by, inverse(numbering));
  const bool same = all == no_renumbering(result.topology);
  if (!has_numbers_of_its_own(result.topology, result.collective)) return result;
  Topology to = topology != nullptr ? *topology : same ? result.topology : renumbered(result.topology, all);
  if (same && without_names(to) == without_names(result.topology)) {
    result.topology = std::move(to);
    return result;
  }
  return refereed(result, all, to, file);
}

// Puts what the answer does not have yet: places, and times of sizes.
void complete(AnswerFile& file, const LibraryQuestion& question, const StoredAnswer& stored) {
  std::vector<AnswerPlace> places;
  for (const AnswerPlace& place : question.places)
    if (AnswerPlace there = seen_by(stored, place);
        std::ranges::find(stored.places, there) == stored.places.end())
      places.push_back(std::move(there));
  std::vector<std::int64_t> bytes;
  for (const std::int64_t size : question.bytes)
    if (std::ranges::find(stored.predicted, size, &PredictedTime::bytes) == stored.predicted.end())
      bytes.push_back(size);
  if (places.empty() && bytes.empty()) return;
  std::vector<SizeRow> rows;
  if (!bytes.empty()) rows = best_by_size(result_of(stored, "an answer of the library"), bytes);
  for (const AnswerPlace& place : places) file.put_place(stored.question, place);
  for (const SizeRow& row : rows)
    file.put_predicted(
        stored.question,
        {.bytes = row.block_bytes, .point = row.point, .us = row.us, .least_us = row.least_us});
}

}  // namespace

std::vector<int> hosts_of(const std::string& spec) {
  const Levels levels = load_levels(spec);
  if (!levels.hierarchy || levels.hierarchy->node_level == 0) return {};
  double outside = std::numeric_limits<double>::infinity(), inside = 0;
  int of_a_node = 1;
  for (int j = 0; j < std::ssize(levels.hierarchy->levels); ++j) {
    const Level& level = levels.hierarchy->levels[j];
    if (j < levels.hierarchy->node_level) {
      outside = std::min(outside, level.link.latency_us);
    } else {
      inside = std::max(inside, level.link.latency_us);
      of_a_node *= level.fan_out;
    }
  }
  if (inside >= outside) return {};
  std::vector<int> hosts(devices(*levels.hierarchy));
  for (std::size_t n = 0; n < hosts.size(); ++n) hosts[n] = static_cast<int>(n) / of_a_node;
  return hosts;
}

AnswerPlace seen_by(const StoredAnswer& stored, AnswerPlace place) {
  if (place.hosts.empty()) return place;
  const std::string file = "a place of the library";
  const Renumbering answer = renumbering_from_json(stored.numbering, file),
                    group = renumbering_from_json(place.numbering, file);
  if (answer.ranks.size() != group.ranks.size() || place.hosts.size() != group.ranks.size())
    throw InputError(file, "is of another machine", "build another");
  const std::vector<Rank> ranks = compose(answer, inverse(group)).ranks;
  const std::vector<int> hosts = place.hosts;
  for (std::size_t n = 0; n < hosts.size(); ++n) place.hosts[n] = hosts[ranks[n]];
  return place;
}

Topology without_names(const Topology& topology) {
  Topology result = topology;
  result.name = "machine";
  for (std::size_t i = 0; i < result.limits.size(); ++i) result.limits[i].name = fmt::format("limit {}", i);
  return result;
}

LibraryQuestion library_question(const Topology& topology, const Collective& collective,
                                 const FrontierOptions& options) {
  LibraryQuestion question{.topology = topology, .collective = collective, .options = options};
  std::vector<int> colours(topology.ranks, 0);
  if (is_rooted(collective.kind)) colours.at(collective.root) = 1;
  question.numbering = has_numbers_of_its_own(topology, collective) ? canonical_numbering(topology, colours)
                                                                    : no_renumbering(topology);
  question.text = text_of(subject_of(topology, collective, question.numbering), options);
  return question;
}

std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"machines", "collectives", "groups", "roots", "bytes", "min_chunks", "max_chunks", "k",
                       "max_steps", "conflicts", "cubes", "seconds"});
  const FrontierOptions options = options_in(json);
  const std::vector<std::int64_t> bytes =
      json.has("bytes") ? sizes_in(json["bytes"]) : std::vector<std::int64_t>{};
  std::vector<int> roots;
  for (std::size_t i = 0; json.has("roots") && i < json["roots"].size(kMostNamesOfASpec); ++i)
    roots.push_back(json["roots"].at(i).integer(0, 1'000'000));
  if (!json.has("roots")) roots = {0};
  const std::vector<std::string> groups =
      json.has("groups") ? texts(json["groups"]) : std::vector<std::string>{"all"};
  std::vector<LibraryQuestion> questions;
  std::map<std::string, std::size_t> known;  // by text
  std::map<std::pair<std::string, std::string>, LibraryQuestion>
      asked;  // by machine and collective as they are numbered
  for (const std::string& spec : texts(json["machines"])) {
    const Topology whole = machine(spec);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const auto& [part, members, hosts] :
           groups_named(groups[g], spec, whole, json.has("groups") ? json["groups"].at(g) : json)) {
        const std::string part_text = to_json(without_names(part));
        for (const std::string& name : texts(json["collectives"]))
          for (const int root : is_rooted(known_kind(name)) ? roots : std::vector<int>{0}) {
            if (root >= part.ranks) continue;  // roots of larger groups
            const auto [alike, is_first] = asked.try_emplace({part_text, fmt::format("{} {}", name, root)});
            if (is_first) {
              alike->second = library_question(
                  part,
                  communication(name, part, is_rooted(known_kind(name)) ? std::optional(root) : std::nullopt),
                  options);
              alike->second.bytes = bytes;
            }
            const auto [at, is_new] = known.emplace(alike->second.text, questions.size());
            if (is_new) questions.push_back(alike->second);
            const AnswerPlace place{.machine = spec,
                                    .group = groups[g],
                                    .collective = name,
                                    .ranks = part.ranks,
                                    .root = root,
                                    .hosts = hosts,
                                    .members = fmt::format("{}", fmt::join(members, " ")),
                                    .numbering = to_json(alike->second.numbering)};
            // The nodes of a machine are one place as long as they are numbered alike.
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
  return questions;
}

std::optional<Result> find_answer(AnswerFile& file, const LibraryQuestion& question) {
  const std::optional<StoredAnswer> stored = file.answer(question.text);
  if (!stored) return {};
  Result result =
      with_numbers_of(*stored, question.numbering, &question.topology, "an answer of the library");
  result.topology = question.topology;
  return result;
}

bool has_answer(AnswerFile& file, const LibraryQuestion& question) {
  const std::optional<StoredAnswer> stored = file.answer(question.text);
  if (stored) file.together([&] { complete(file, question, *stored); });
  return stored.has_value();
}

bool keep_answer(AnswerFile& file, const LibraryQuestion& question, Result result) {
  if (result.stopped == Stopped::Interrupted || result.stopped == Stopped::MemoryLimit) return false;
  result.topology = without_names(result.topology);
  result.limits.memory_bytes = {};  // of the process, which had enough
  StoredAnswer stored{
      .question = question.text, .answer = to_json(result), .numbering = to_json(question.numbering)};
  file.together([&] {
    file.put(stored);
    if (const auto there = file.answer(question.text))
      complete(file, question, *there);  // another process's, maybe
  });
  return true;
}

Result result_of(const StoredAnswer& stored, const std::string& file) {
  return result_from_json(stored.answer, file);
}

Result result_at(const StoredAnswer& stored, const AnswerPlace& place, const std::string& file) {
  Result result = with_numbers_of(stored, renumbering_from_json(place.numbering, file), nullptr, file);
  result.topology.name = place.machine;
  return result;
}

bool is_about(const StoredAnswer& stored, const LibraryQuestion& question) {
  return stored.question.starts_with(subject_of(question.topology, question.collective, question.numbering) +
                                     "\n");
}

bool answers_its_question(const StoredAnswer& stored, const std::string& file) {
  const Result result = result_of(stored, file);
  const Renumbering numbering = renumbering_from_json(stored.numbering, file);
  return std::ssize(numbering.ranks) == result.topology.ranks &&
         numbering.links.size() == result.topology.links.size() &&
         stored.question.starts_with(
             head_of(subject_of(result.topology, result.collective, numbering), result.space));
}

CheckReport check_answer(const StoredAnswer& stored, const std::string& file, const SolveLimits& limits) {
  if (answers_its_question(stored, file)) return check(result_of(stored, file), {.limits = limits});
  CheckReport report;
  report.faults.push_back({.words = "an answer is to another question than it is stored for"});
  return report;
}

std::vector<Result> results_at(AnswerFile& file, const std::string& name, const AnswerPlace& asked,
                               std::vector<std::vector<MeasuredTime>>* measured) {
  std::optional<LibraryQuestion> ranks;
  if (!asked.members.empty()) {
    const Topology whole = machine(asked.machine);
    std::vector<Rank> members;
    std::istringstream words(asked.members);
    for (Rank n = 0; words >> n;) {
      if (n < 0 || n >= whole.ranks || std::ranges::find(members, n) != members.end())
        throw InputError("--ranks", fmt::format("{} is no further rank of {}", n, asked.machine),
                         fmt::format("use each of 0 to {} once at most", whole.ranks - 1));
      members.push_back(n);
    }
    const Topology part = part_at(whole, members);
    ranks = library_question(
        part,
        communication(asked.collective, part,
                      is_rooted(known_kind(asked.collective)) ? std::optional(asked.root) : std::nullopt),
        {});
    ranks->topology.name = asked.machine;
  }
  std::vector<Result> results;
  std::string known;
  std::vector<std::string> members;
  file.each([&](const StoredAnswer& stored) {
    if (ranks) {
      if (is_about(stored, *ranks)) {
        results.push_back(with_numbers_of(stored, ranks->numbering, &ranks->topology, name));
        if (measured != nullptr) measured->push_back(stored.measured);
      }
      return;
    }
    for (const AnswerPlace& place : stored.places) {
      if (place.machine != asked.machine || place.collective != asked.collective) continue;
      known += fmt::format("{}{} with root {}", known.empty() ? "" : ", ", place.group, place.root);
      if (place.group != asked.group || place.root != asked.root) continue;
      if (std::ranges::find(members, place.members) == members.end()) members.push_back(place.members);
      if (place.members != members.front()) continue;
      results.push_back(result_at(stored, place, name));
      if (measured != nullptr) measured->push_back(stored.measured);
    }
  });
  if (members.size() > 1) {
    std::ranges::sort(members);
    for (std::string& each : members) std::ranges::replace(each, ' ', ',');
    throw InputError(name,
                     fmt::format("has {} kinds of {} of {}: {}", members.size(), asked.group, asked.machine,
                                 joined(members, " and ")),
                     "say of which ranks: --ranks " + members.front());
  }
  if (results.empty())
    throw InputError(name,
                     fmt::format("has no {} of {}, {}, root {}", asked.collective, asked.machine,
                                 asked.members.empty() ? asked.group : "ranks " + asked.members, asked.root),
                     known.empty() ? "see 'chorale library show'" : "it has that for " + known);
  return results;
}

}  // namespace chorale
