// Reads what placement has written. Names become numbers here, and numbers are bounded; what the numbers
// claim is verified elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/place_options.h"
#include "ir/ranking.h"

namespace chorale {
namespace {

constexpr std::size_t kMostRanked = 1'000'000, kMostRankedStrategies = 10'000, kMostRankedSteps = 64;
constexpr double kMostUs = 1e30;
constexpr const char* kAfter = "reductions that come after others";
constexpr long long kMostPrograms = 1LL << 60;

int number_of(const JsonReader& json, const std::vector<std::string>& names, const char* what) {
  const std::string name = json.text();
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    json.fail(fmt::format("'{}': there is no such {}", name, what), "make the ranking again");
  return static_cast<int>(at - names.begin());
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  return names;
}

std::vector<std::string> names_of(const Hierarchy& hierarchy) {
  std::vector<std::string> names;
  for (const Level& level : hierarchy.levels) names.push_back(level.name);
  return names;
}

std::vector<std::string> read_names(const JsonReader& json) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < json.size(kMostRankedSteps); ++l) names.push_back(json.at(l).text(400));
  return names;
}

template <typename Value>
Value named(const JsonReader& json, std::span<const Named<Value>> known) {
  const std::string text = json.text();
  const std::optional<Value> value = value_in(known, text);
  if (!value) json.fail("unknown '" + text + "'", "make the ranking again");
  return *value;
}

double microseconds(const JsonReader& json) {
  return json.number(0, kMostUs);
}

Conditions read_conditions(const JsonReader& json, const std::vector<std::string>& axes,
                           const std::vector<std::string>& levels) {
  constexpr std::size_t kMost = 1000;
  json.require_object({"inside", "order", "memory"});
  Conditions conditions;
  for (std::size_t i = 0; i < json["inside"].size(kMost); ++i) {
    const JsonReader each = json["inside"].at(i);
    each.require_object({"axis", "level"});
    conditions.inside.push_back(
        {number_of(each["axis"], axes, "axis"), number_of(each["level"], levels, "level")});
  }
  for (std::size_t i = 0; i < json["order"].size(kMost); ++i) {
    const JsonReader each = json["order"].at(i);
    each.require_object({"inner", "outer"});
    conditions.order.push_back(
        {number_of(each["inner"], axes, "axis"), number_of(each["outer"], axes, "axis")});
  }
  for (std::size_t i = 0; i < json["memory"].size(kMost); ++i) {
    const JsonReader each = json["memory"].at(i);
    each.require_object({"level", "axes", "shard_bytes", "capacity_bytes"});
    Conditions::Memory memory{.level = number_of(each["level"], levels, "level"),
                              .shard_bytes = each["shard_bytes"].number(0, 1e30),
                              .capacity_bytes = each["capacity_bytes"].number(0, 1e30)};
    for (std::size_t k = 0; k < each["axes"].size(axes.size()); ++k)
      memory.axes.push_back(number_of(each["axes"].at(k), axes, "axis"));
    conditions.memory.push_back(std::move(memory));
  }
  return conditions;
}

ParallelismMatrix read_matrix(const JsonReader& json, const Ranking& ranking) {
  const std::size_t axes = ranking.job.axes.size(), levels = ranking.hierarchy.levels.size();
  ParallelismMatrix matrix;
  const JsonReader rows = json["matrix"];
  if (rows.size(axes) != axes) rows.fail("has not a row for each axis", "make the ranking again");
  for (std::size_t i = 0; i < axes; ++i) {
    if (rows.at(i).size(levels) != levels)
      rows.at(i).fail("has not a factor for each level", "make the ranking again");
    matrix.factors.emplace_back();
    for (std::size_t j = 0; j < levels; ++j)
      matrix.factors.back().push_back(rows.at(i).at(j).integer(1, 1 << 20));
  }
  if (!json.has("orders")) return matrix;
  const JsonReader orders = json["orders"];
  if (orders.size(levels) != levels) orders.fail("has not an order for each level", "make the ranking again");
  for (std::size_t j = 0; j < levels; ++j) {
    const JsonReader order = orders.at(j);
    matrix.orders.emplace_back();
    for (std::size_t k = 0; k < order.size(axes); ++k)
      matrix.orders.back().push_back(order.at(k).integer(0, static_cast<int>(axes) - 1));
    std::vector<int> sorted = matrix.orders.back();
    std::ranges::sort(sorted);
    if (sorted.size() != axes || std::ranges::adjacent_find(sorted) != sorted.end())
      order.fail("does not name every axis once", "make the ranking again");
  }
  return matrix;
}

DeviceGroups read_groups(const JsonReader& json, int devices) {
  DeviceGroups groups;
  for (std::size_t g = 0; g < json.size(static_cast<std::size_t>(devices)); ++g) {
    const JsonReader group = json.at(g);
    groups.emplace_back();
    for (std::size_t i = 0; i < group.size(static_cast<std::size_t>(devices)); ++i)
      groups.back().push_back(group.at(i).integer(0, devices - 1));
  }
  return groups;
}

RankedStrategy read_strategy(const JsonReader& json, const std::vector<std::string>& levels,
                             long long devices) {
  RankedStrategy strategy{.us = microseconds(json["us"])};
  const JsonReader instructions = json["instructions"];
  for (std::size_t i = 0; i < instructions.size(kMostRankedSteps); ++i) {
    const JsonReader each = instructions.at(i);
    each.require_object({"slice", "form", "ancestor", "operation", "us", "latency_us", "binding", "rings",
                         "pattern", "groups"});
    PricedInstruction priced{.us = microseconds(each["us"]),
                             .latency_us = microseconds(each["latency_us"]),
                             .binding = each["binding"].text(),
                             .rings = each["rings"].integer(0, 1 << 30),
                             .pattern = each.has("pattern") ? each["pattern"].text() : ""};
    StrategyInstruction& instruction = priced.instruction;
    instruction.slice = number_of(each["slice"], levels, "level of the strategy");
    using Form = StrategyInstruction::Form;
    instruction.form = named<Form>(each["form"], kFormNames);
    if (each.has("ancestor") != (instruction.form != Form::InsideGroup))
      each.fail("Parallel and Master have an ancestor, InsideGroup has none", "make the ranking again");
    if (each.has("ancestor")) {
      instruction.ancestor = number_of(each["ancestor"], levels, "level of the strategy");
      if (instruction.ancestor >= instruction.slice)
        each["ancestor"].fail("is not outside of the slice", "make the ranking again");
    }
    instruction.operation = named<StrategyInstruction::Operation>(each["operation"], kOperationNames);
    if (each.has("groups") != (devices <= kMostListedDevices))
      each.fail(fmt::format("groups are listed up to {} devices, and there only", kMostListedDevices),
                "make the ranking again");
    if (each.has("groups"))
      strategy.lowered.push_back(
          {instruction.operation, read_groups(each["groups"], static_cast<int>(devices))});
    strategy.instructions.push_back(std::move(priced));
  }
  return strategy;
}

// Keys that would have no meaning are refused.
void require_none(const JsonReader& json, std::initializer_list<const char*> keys, const char* without) {
  for (const char* key : keys)
    if (json.has(key)) json[key].fail(fmt::format("is of a ranking with {}", without), "make it again");
}

void read_programs(const JsonReader& json, ReductionRanking& reduction) {
  reduction.programs = json["programs"].long_integer(0, kMostPrograms);
  reduction.faster = json["faster"].long_integer(0, kMostPrograms);
  if (!json.has("programs_over")) return;
  const JsonReader over = json["programs_over"];
  over.require_object({"system", "columns", "rows", "reduction"});
  for (std::size_t k = 0; k < std::size(kSynthesisChoices); ++k)
    reduction.programs_over[k] = over[kSynthesisChoices[k].name.data()].long_integer(0, kMostPrograms);
}

ReductionRanking read_reduction(const JsonReader& json, const Ranking& ranking, int number) {
  json.require_object({"reduction", "levels", "sizes", "allreduce_us", "programs", "faster", "programs_over",
                       "strategies", "exchange", "own", "from_us", "to_us"});
  ReductionRanking reduction{.reduction = number, .allreduce_us = microseconds(json["allreduce_us"])};
  if (json["reduction"].text() != ranking.job.reductions[number].name)
    json["reduction"].fail("is not the job's reduction of this number", "make the ranking again");
  const JsonReader levels = json["levels"], sizes = json["sizes"];
  reduction.levels = read_names(levels);
  if (reduction.levels.empty() || sizes.size(kMostRankedSteps) != reduction.levels.size())
    sizes.fail("is not a size for each level", "make the ranking again");
  for (std::size_t l = 0; l < reduction.levels.size(); ++l)
    reduction.sizes.push_back(sizes.at(l).integer(1, 1 << 24));
  read_programs(json, reduction);
  if (overlaps(ranking.job)) {
    reduction.from_us = microseconds(json["from_us"]);
    reduction.to_us = microseconds(json["to_us"]);
  } else {
    require_none(json, {"from_us", "to_us"}, kAfter);
  }
  const long long all = devices(ranking.hierarchy);
  const JsonReader strategies = json["strategies"];
  for (std::size_t s = 0; s < strategies.size(kMostRankedStrategies); ++s) {
    strategies.at(s).require_object({"us", "instructions"});
    reduction.strategies.push_back(read_strategy(strategies.at(s), reduction.levels, all));
  }
  if (json.has("exchange")) {
    const JsonReader exchange = json["exchange"];
    exchange.require_object({"us", "latency_us", "binding", "pattern"});
    reduction.exchange =
        PricedInstruction{.us = microseconds(exchange["us"]),
                          .latency_us = microseconds(exchange["latency_us"]),
                          .binding = exchange["binding"].text(),
                          .pattern = exchange.has("pattern") ? exchange["pattern"].text() : ""};
  }
  if (json.has("own")) {
    const JsonReader own = json["own"];
    if (own.has("fault")) {
      own.require_object({"fault"});
      reduction.own = OwnStrategy{.fault = own["fault"].text(4000)};
    } else {
      own.require_object({"us", "levels", "instructions"});
      reduction.own = OwnStrategy{.levels = own.has("levels") ? read_names(own["levels"]) : reduction.levels};
      reduction.own->priced = read_strategy(own, reduction.own->levels, kMostListedDevices + 1LL);
    }
  }
  return reduction;
}

RankedMatrix read_ranked(const JsonReader& json, const Ranking& ranking) {
  json.require_object({"matrix", "orders", "us", "one_by_one_us", "allreduce_us", "reductions"});
  RankedMatrix ranked{.matrix = read_matrix(json, ranking),
                      .us = microseconds(json["us"]),
                      .allreduce_us = microseconds(json["allreduce_us"])};
  if (overlaps(ranking.job))
    ranked.one_by_one_us = microseconds(json["one_by_one_us"]);
  else
    require_none(json, {"one_by_one_us"}, kAfter);
  const JsonReader reductions = json["reductions"];
  const std::size_t all = ranking.job.reductions.size();
  if (reductions.size(1000) != all)
    reductions.fail("is not one for each of the job's", "make the ranking again");
  for (std::size_t r = 0; r < all; ++r)
    ranked.reductions.push_back(read_reduction(reductions.at(r), ranking, static_cast<int>(r)));
  return ranked;
}

void read_sizes(const JsonReader& json, Ranking& ranking) {
  if (!json.has("choices")) return require_none(json, {"fitting", "placed", "sizes"}, "'choices'");
  ranking.size_choices = {json["choices"].integer(0, 1 << 30), json["fitting"].integer(0, 1 << 30),
                          json["placed"].integer(0, 1 << 30)};
  for (std::size_t i = 0; i < json["sizes"].size(kMostRanked); ++i) {
    const JsonReader each = json["sizes"].at(i);
    each.require_object({"sizes", "memory_bytes", "compute_us", "communication_us"});
    RankedSizes sizes{.memory_bytes = each["memory_bytes"].number(0, 1e30),
                      .compute_us = microseconds(each["compute_us"]),
                      .communication_us = microseconds(each["communication_us"])};
    const std::size_t axes = ranking.job.axes.size();
    if (each["sizes"].size(axes) != axes)
      each["sizes"].fail("is not one for each axis", "make the ranking again");
    for (std::size_t a = 0; a < axes; ++a) sizes.sizes.push_back(each["sizes"].at(a).integer(1, 1 << 24));
    ranking.sizes.push_back(std::move(sizes));
  }
}

}  // namespace

bool is_ranking(std::string_view text) {
  constexpr std::size_t kBeginning = 100;
  return text.substr(0, kBeginning).find("\"chorale_ranking\"") != std::string_view::npos;
}

Ranking ranking_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"chorale_ranking", "hierarchy", "job", "algorithm", "rules", "synthesis", "conditions",
                       "matrices", "priced", "without_strategy", "seconds", "choices", "fitting", "placed",
                       "sizes", "sentences", "present", "best"});
  if (json.has("sentences"))  // derived from the rest
    for (std::size_t i = 0; i < json["sentences"].size(kMostRanked); ++i)
      json["sentences"].at(i).text(100'000);
  if (json["chorale_ranking"].integer(1, 1 << 30) != kRankingVersion)
    json["chorale_ranking"].fail("is of another version", "make the ranking again");
  Ranking ranking{.hierarchy = read_hierarchy(json["hierarchy"]),
                  .job = read_job(json["job"], json.has("choices"))};
  ranking.algorithm = name_in(algorithms(), named(json["algorithm"], algorithms()));
  ranking.rules = name_in(strategy_rules(), named(json["rules"], strategy_rules()));
  ranking.synthesis = name_of(named<SynthesisKind>(json["synthesis"], kSynthesisChoices));
  if (json.has("conditions"))
    ranking.conditions =
        read_conditions(json["conditions"], names_of(ranking.job.axes), names_of(ranking.hierarchy));
  ranking.matrices = json["matrices"].integer(0, 1 << 30);
  ranking.priced = json["priced"].integer(0, 1 << 30);
  ranking.without_strategy = json["without_strategy"].integer(0, 1 << 30);
  ranking.seconds = json["seconds"].number(0, 1e12);
  read_sizes(json, ranking);
  for (std::size_t m = 0; m < json["best"].size(kMostRanked); ++m)
    ranking.best.push_back(read_ranked(json["best"].at(m), ranking));
  if (json.has("present")) ranking.present = read_ranked(json["present"], ranking);
  return ranking;
}

}  // namespace chorale
