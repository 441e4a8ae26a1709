#include "api/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "api/compose.h"
#include "api/inputs.h"
#include "api/search.h"
#include "ir/embedding.h"
#include "ir/error.h"
#include "ir/hierarchy.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "topology/machines.h"

namespace chorale {
namespace {

constexpr std::size_t kMostNamesOfASpec = 1000;
constexpr int kMostChunksOfASpec = 4096;

// All that the stored result says itself, so that check_answer() can say it again.
std::string head_of(const Topology& topology, const Collective& collective, const Space& space) {
  return fmt::format("{}{}\nchunks {} {} steps {} rounds {} extra {}\n", to_json(without_names(topology)),
                     to_json(collective), space.min_chunks, space.max_chunks, space.max_steps,
                     space.max_rounds, space.extra_rounds);
}

std::vector<std::string> texts(const JsonReader& json) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < json.size(kMostNamesOfASpec); ++i) result.push_back(json.at(i).text());
  return result;
}

struct Group {
  Topology topology = {};
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

// The machines of the groups that are meant, one after the other.
std::vector<Group> groups_named(const std::string& name, const std::string& spec, const Topology& whole,
                                const JsonReader& place) {
  const std::vector<int> hosts = hosts_of(spec);
  if (name == "all") return {{.topology = whole, .hosts = hosts}};
  const Nesting nested = nesting(spec);
  std::vector<int> levels;
  std::string known = "all";
  for (std::size_t j = 0; j < nested.names.size(); ++j) {
    known += ", " + nested.names[j];
    if (nested.names[j] == name) levels = {static_cast<int>(j)};
  }
  if (levels.empty()) place.fail("'" + name + "' is no group of " + spec, "use one of " + known);
  std::vector<Group> result;
  for (const std::vector<Rank>& ranks : groups_at(nested, levels))
    result.push_back({.topology = part_at(whole, ranks), .hosts = hosts_at(hosts, ranks)});
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
  if (json.has("seconds"))
    options.time_limit = std::chrono::milliseconds(
        static_cast<long long>(std::max(1.0, 1000 * json["seconds"].number(0.001, 3.6e6))));
  return options;
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

Topology without_names(const Topology& topology) {
  Topology result = topology;
  result.name = "machine";
  for (std::size_t i = 0; i < result.limits.size(); ++i) result.limits[i].name = fmt::format("limit {}", i);
  return result;
}

std::string text_of(const LibraryQuestion& question) {
  const FrontierOptions& asked = question.options;
  const SynthesisOptions& how = asked.synthesis;
  // As the result of a search says it.
  const Space space{.min_chunks = asked.min_chunks,
                    .max_chunks = asked.max_chunks,
                    .max_steps = asked.max_steps,
                    .extra_rounds = asked.extra_rounds};
  return head_of(question.topology, question.collective, space) +
         fmt::format("conflicts {} ms {} bounds {} symmetry {} seed {} version {}\n", how.limits.conflicts,
                     asked.time_limit.count(), how.use_bounds, how.use_symmetry, how.seed, kResultVersion);
}

std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"machines", "collectives", "groups", "roots", "min_chunks", "max_chunks", "k",
                       "max_steps", "conflicts", "seconds"});
  const FrontierOptions options = options_in(json);
  std::vector<int> roots;
  for (std::size_t i = 0; json.has("roots") && i < json["roots"].size(kMostNamesOfASpec); ++i)
    roots.push_back(json["roots"].at(i).integer(0, 1'000'000));
  if (!json.has("roots")) roots = {0};
  const std::vector<std::string> groups =
      json.has("groups") ? texts(json["groups"]) : std::vector<std::string>{"all"};
  std::vector<LibraryQuestion> questions;
  std::map<std::string, std::size_t> known;
  for (const std::string& spec : texts(json["machines"])) {
    const Topology whole = machine(spec);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const auto& [part, hosts] :
           groups_named(groups[g], spec, whole, json.has("groups") ? json["groups"].at(g) : json))
        for (const std::string& name : texts(json["collectives"]))
          for (const int root : is_rooted(known_kind(name)) ? roots : std::vector<int>{0}) {
            if (root >= part.ranks) continue;  // roots of larger groups
            LibraryQuestion question{
                .topology = part,
                .collective = communication(name, part,
                                            is_rooted(known_kind(name)) ? std::optional(root) : std::nullopt),
                .options = options};
            const AnswerPlace place{.machine = spec,
                                    .group = groups[g],
                                    .collective = name,
                                    .ranks = part.ranks,
                                    .root = root,
                                    .hosts = hosts};
            const auto [at, is_new] = known.emplace(text_of(question), questions.size());
            if (is_new) questions.push_back(std::move(question));
            std::vector<AnswerPlace>& places = questions[at->second].places;
            if (std::ranges::find(places, place) == places.end()) places.push_back(place);
          }
  }
  return questions;
}

std::optional<Result> find_answer(AnswerFile& file, const LibraryQuestion& question) {
  const std::optional<std::string> text = file.answer(text_of(question));
  if (!text) return {};
  Result result = result_from_json(*text, "an answer of the library");
  result.topology = question.topology;
  return result;
}

bool keep_answer(AnswerFile& file, const LibraryQuestion& question, Result result) {
  if (result.stopped == Stopped::Interrupted || result.stopped == Stopped::MemoryLimit) return false;
  result.topology = without_names(result.topology);
  result.limits.memory_bytes = {};  // of the process, which had enough
  const std::string asked = text_of(question);
  file.put(asked, to_json(result));
  for (const AnswerPlace& place : question.places) file.put_place(asked, place);
  return true;
}

Result result_of(const StoredAnswer& stored, const std::string& file) {
  return result_from_json(stored.answer, file);
}

CheckReport check_answer(const StoredAnswer& stored, const std::string& file, const SolveLimits& limits) {
  const Result result = result_of(stored, file);
  if (!stored.question.starts_with(head_of(result.topology, result.collective, result.space))) {
    CheckReport report;
    report.faults.push_back({.words = "an answer is to another question than it is stored for"});
    return report;
  }
  return check(result, {.limits = limits});
}

}  // namespace chorale
