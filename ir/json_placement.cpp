// Hierarchies and jobs. A line of text names as many devices as it likes, so levels, axes and devices are
// bounded while they are read.

#include <fmt/format.h>

#include <algorithm>
#include <concepts>

#include "ir/hierarchy.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/node_order.h"
#include "ir/noun_fields.h"
#include "ir/place_options.h"

namespace chorale {

namespace {

constexpr int kMostLevels = 8;
constexpr int kMostInARing = 1024;  // every pair is followed round the ring
constexpr long long kMostDevices = 1LL << 24;

// What the fields cannot state: which parts of a link model exclude each other. A ring may have a detour, or
// a host in place of detour and exit; a host's socket holds whole uplinks.
Level read_level(const JsonReader& json) {
  const Level level = read_fields<Level>(json);
  if (level.name.empty() || level.name == "root")
    json["name"].fail("is not a name for a level", "choose another");
  const LinkModel& link = level.link;
  const bool ring = link.shape == LinkModel::Shape::Ring;
  if (ring && level.fan_out > kMostInARing)
    json["fan_out"].fail(fmt::format("{} children in a ring", level.fan_out),
                         fmt::format("use at most {}, or a switch", kMostInARing));
  if (link.detour && !ring) json["detour"].fail("is for rings", "remove it");
  if (!link.host) return level;
  if (!ring) json["host"].fail("is for rings", "remove it");
  if (link.exit || link.detour) json["host"].fail("is in place of exit and detour", "remove these, or it");
  const int sockets = link.host->socket.children, uplinks = link.host->uplink.children;
  if (sockets % uplinks != 0)
    json["host"]["socket"].fail(fmt::format("{} children are not whole uplinks of {}", sockets, uplinks),
                                "use a multiple");
  return level;
}

// A job by its fields, or a reduction of a template, whose numbers may be formulas (they are read elsewhere
// and skipped here). Axes and predecessors are names in files and numbers in memory; `job` is the one that is
// being read, so names are looked up among what was read before.
struct JobFields {
  const Job& job;
  bool is_outermost = true;
  bool is_template = false;
  std::string_view between(const FieldWords&) const { return is_outermost ? ",\n  " : ","; }
  std::string_view colon() const { return is_outermost ? ": " : ":"; }
  // The same for what lies inside: members of inner objects stand in one line.
  JobFields inner() const { return {job, false, is_template}; }

  std::vector<std::string> names_of_axes() const {
    std::vector<std::string> names;
    for (const Axis& axis : job.axes) names.push_back(axis.name);
    return names;
  }
  // Of the first reductions; later ones cannot be waited for.
  std::vector<std::string> names_before(std::size_t number) const {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < number; ++k) names.push_back(job.reductions[k].name);
    return names;
  }

  // Lists of the job have an element a line.
  template <typename Value>
  requires requires { Fields<Value>::all; }
  std::string write(const std::vector<Value>& values, const FieldWords& words) const {
    std::vector<std::string> texts;
    for (const Value& each : values) texts.push_back(write_value(each, words, inner()));
    return lines(texts, "  ");
  }
  // Axes, or `after`: reductions by name.
  std::string write(const std::vector<int>& numbers, const FieldWords& words) const {
    const std::vector<std::string> names =
        words.name == "axes" ? names_of_axes() : names_before(job.reductions.size());
    std::vector<std::string> texts;
    for (const int number : numbers) texts.push_back(quoted(names[number]));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }

  void read(const JsonReader& json, const FieldWords& words, std::vector<Axis>& axes) const {
    for (const JsonReader& each : json.elements(words.longest)) {
      axes.push_back(read_fields<Axis>(each));
      const auto has_it = [&](const Axis& other) { return other.name == axes.back().name; };
      if (std::ranges::count_if(axes, has_it) > 1)
        each["name"].fail("is the name of another axis, too", "choose another");
    }
    if (axes.empty()) json.fail("is empty", "list at least one axis");
  }
  void read(const JsonReader& json, const FieldWords& words, std::vector<Reduction>& all) const {
    for (const JsonReader& each : json.elements(words.longest)) {
      require_fields<Reduction>(each);
      read_members(each, all.emplace_back(), inner());
    }
  }
  void read(const JsonReader& json, const FieldWords& words, std::vector<int>& axes) const {
    const std::vector<std::string> names = names_of_axes();
    for (const JsonReader& each : json.elements(words.longest)) {
      const std::string name = each.text(40);
      const auto at = std::ranges::find(names, name);
      if (at == names.end()) each.fail("'" + name + "' is not an axis of the job", "name one of its axes");
      axes.push_back(static_cast<int>(at - names.begin()));
    }
    std::ranges::sort(axes);
    if (axes.empty()) json.fail("is empty", "name at least one axis");
    if (std::ranges::adjacent_find(axes) != axes.end()) json.fail("names an axis twice", "name each once");
  }
  // Of the last reduction so far: by the names of those before it.
  void read(const JsonReader& json, const FieldWords& words, std::optional<std::vector<int>>& after) const {
    const std::vector<std::string> before = names_before(job.reductions.size() - 1);
    after.emplace();
    for (const JsonReader& each : json.elements(words.longest)) {
      const std::string name = each.text();
      const auto at = std::ranges::find(before, name);
      if (at == before.end())
        each.fail("no reduction before this one is called '" + name + "'",
                  "name earlier ones, or put this one behind them");
      // Names of reductions may repeat as long as none is referred to.
      if (std::ranges::count(before, name) > 1)
        each.fail("several reductions are called '" + name + "'", "give them names of their own");
      const int number = static_cast<int>(at - before.begin());
      if (std::ranges::find(*after, number) != after->end())
        each.fail("names '" + name + "' twice", "name each once");
      after->push_back(number);
    }
    std::ranges::sort(*after);
  }
  // Elements have whole bytes; a template's other numbers are formulas.
  void read(const JsonReader& json, const FieldWords& words, double& number) const {
    if (words.name == "element_bytes")
      number = json.integer(static_cast<int>(words.least), static_cast<int>(words.most));
    else if (!is_template)
      number = json.number(words.least, words.most);
  }
};

}  // namespace

// "node" is written always, though readers have a default for it.
std::string to_json(const Hierarchy& hierarchy) {
  const std::string call =
      hierarchy.call_us > 0 ? fmt::format("  \"call_us\": {},\n", hierarchy.call_us) : "";
  return fmt::format("{{\n  \"hierarchy\": {},\n  \"node\": {},\n{}  \"levels\": {}\n}}\n",
                     quoted(hierarchy.name), hierarchy.node_level, call, lines_of(hierarchy.levels, "  "));
}

Hierarchy hierarchy_from_json(std::string_view text, const std::string& file) {
  return read_hierarchy(parse_json(text, file));
}

// Devices are counted level by level, while the product still fits. Without "node" the innermost level is the
// inside of a node.
Hierarchy read_hierarchy(const JsonReader& json) {
  json.require_object({"hierarchy", "node", "call_us", "levels"});
  Hierarchy hierarchy{.name = json["hierarchy"].text()};
  const JsonReader levels = json["levels"];
  for (const JsonReader& each : levels.elements(kMostLevels)) {
    const Level level = read_level(each);
    if (std::ranges::find(hierarchy.levels, level.name, &Level::name) != hierarchy.levels.end())
      each["name"].fail("is the name of another level, too", "choose another");
    hierarchy.levels.push_back(level);
    if (devices(hierarchy) > kMostDevices)
      each["fan_out"].fail(fmt::format("makes more than {} devices", kMostDevices), "use fewer");
  }
  if (hierarchy.levels.empty()) levels.fail("is empty", "list at least one level");
  const int count = static_cast<int>(hierarchy.levels.size());
  hierarchy.node_level = json.has("node") ? json["node"].integer(0, count) : count - 1;
  if (json.has("call_us")) hierarchy.call_us = json["call_us"].number(0, kMostOfField);
  return hierarchy;
}

std::string to_json(const Job& job) {
  return "{\n  " + write_members(job, JobFields{job}) + "\n}\n";
}

// The reduction is read as the last one of a job that has the template's axes and earlier reductions.
Reduction read_open_reduction(const JsonReader& json, const std::vector<Axis>& axes,
                              const std::vector<Reduction>& before) {
  Job job{.axes = axes, .reductions = before};
  require_fields<Reduction>(json);
  read_members(json, job.reductions.emplace_back(), JobFields{job, false, true});
  return job.reductions.back();
}

Job job_from_json(std::string_view text, const std::string& file) {
  return read_job(parse_json(text, file));
}

Job read_job(const JsonReader& json, bool may_be_idle) {
  require_fields<Job>(json);
  Job job;
  read_members(json, job, JobFields{job});
  if (job.reductions.empty() && !may_be_idle)
    json["reductions"].fail("is empty", "list at least one reduction");
  return job;
}

template <>
struct Fields<OrderedCommunication> {
  using C = OrderedCommunication;
  static constexpr auto all = plain_fields<&C::name, &C::us, &C::least_us, &C::busiest>();
};

// The order as the list of hosts by node of the mesh, with the switch of each, so the two lists have one
// length. Communications and other orders have a line each. Written for other programs; nothing here reads
// it.

std::string to_json(const NodeOrder& order) {
  std::vector<JsonText> axes, others;
  for (const Axis& axis : order.job.axes) axes.push_back(json_object("name", axis.name, "size", axis.size));
  for (const auto& [name, time] : order.others)
    others.push_back(json_object("name", name, "us", time.us, "bytes", time.bytes));
  return json_file("chorale_order", 1, "job", order.job.name, "axes", axes, "node_ranks", order.node_ranks,
                   "node_gbs", order.rates.node_gbs, "tapers", order.rates.tapers, "us", order.time.us,
                   "bytes", order.time.bytes, "bound_us", order.bound_us, "proven", order.proven, "proof",
                   order.proof, "hosts", JsonText{list(order.hosts)}, "switches",
                   JsonText{list(order.switches)}, "communications", order.communications, "others", others);
}

// Rankings of placements, written and read by their fields (ir/noun_fields.h). Names become numbers
// here, and numbers are bounded; what the numbers claim is verified elsewhere.

namespace {

// Strategies by the hierarchy over which they are counted, in the order of kSynthesisChoices.
using Counts = decltype(ReductionRanking::programs_over);
constexpr const char* kAgain = "make the ranking again";

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

// Does the table of names of that field have it? A ranking keeps algorithm, rules and synthesis as texts;
// other texts are free.
bool is_known(const FieldWords& words, const std::string& name) {
  return words.name == "algorithm" ? value_in(algorithms(), name).has_value()
         : words.name == "rules"   ? value_in(strategy_rules(), name).has_value()
         : words.name == "engine"  ? value_in(place_engines(), name).has_value()
         : words.name == "synthesis"
             ? value_in(std::span<const Named<SynthesisKind>>(kSynthesisChoices), name).has_value()
             : true;
}

// Lists of these have an element a line.
template <typename Value>
constexpr const char* indent_of() {
  if constexpr (std::is_same_v<Value, ListedInstruction>) return "          ";
  if constexpr (std::is_same_v<Value, RankedStrategy>) return "        ";
  if constexpr (std::is_same_v<Value, ReductionRanking>) return "      ";
  if constexpr (std::is_same_v<Value, RankedMatrix> || std::is_same_v<Value, RankedSizes>) return "  ";
  return nullptr;
}

// What is read is read in the order of the members, each by those before it.
struct RankingFields {
  const Ranking& ranking;
  bool is_outermost = true;
  bool is_listed = true;                             // instructions have their groups
  bool may_be_idle = false;                          // the job has no reductions
  int reduction = 0;                                 // of the job: the one at hand
  const std::vector<std::string>* levels = nullptr;  // of its strategies

  // A member a line at the outermost. The texts of the hierarchy and the job, which come before "job" and
  // "algorithm", end with a newline of their own.
  std::string_view between(const FieldWords& words) const {
    return !is_outermost || words.name == "job" || words.name == "algorithm" ? "," : ",\n";
  }
  std::string_view colon() const { return is_outermost ? ": " : ":"; }
  RankingFields inner() const {
    RankingFields codec = *this;
    codec.is_outermost = false;
    return codec;
  }
  // For values that number levels of a synthesis hierarchy: `levels` has their names, [0] is the root. The
  // list is that of the value which is being read, so it is filled before its strategies are.
  RankingFields of(const std::vector<std::string>& levels_of_strategies) const {
    RankingFields codec = inner();
    codec.levels = &levels_of_strategies;
    return codec;
  }

  // --- Which members there are ---

  // InsideGroup has no ancestor. Groups of devices are listed on small machines, and never of a strategy that
  // the user brought.
  std::optional<bool> has(const ListedInstruction& each, const FieldWords& words) const {
    if (words.name == "ancestor")
      return each.priced.instruction.form != StrategyInstruction::Form::InsideGroup;
    if (words.name != "groups") return {};
    return is_listed && devices(ranking.hierarchy) <= kMostListedDevices;
  }
  // Spans of time mean something only where communications overlap.
  std::optional<bool> has(const ReductionRanking&, const FieldWords& words) const {
    const bool is_span = words.name == "from_us" || words.name == "to_us";
    return is_span ? std::optional(overlaps(ranking.job)) : std::nullopt;
  }
  std::optional<bool> has(const RankedMatrix&, const FieldWords& words) const {
    return words.name == "one_by_one_us" ? std::optional(overlaps(ranking.job)) : std::nullopt;
  }
  // Either a fault, or levels and prices.
  std::optional<bool> has(const OwnStrategy& own, const FieldWords& words) const {
    if (words.name == "fault") return {};
    return own.fault.empty() ? std::nullopt : std::optional(false);
  }
  std::optional<bool> has(const Ranking& all, const FieldWords& words) const {
    const bool is_of_sizes = words.name == "fitting" || words.name == "placed" || words.name == "sizes";
    return is_of_sizes ? std::optional(all.size_choices.all != 0) : std::nullopt;
  }

  // --- Names for numbers ---

  // The names by which files have this number; nothing where files have the number itself.
  std::optional<std::vector<std::string>> names_for(const FieldWords& words) const {
    if (words.name == "slice" || words.name == "ancestor") return *levels;
    if (words.name == "level") return names_of(ranking.hierarchy);
    if (words.name == "axis" || words.name == "inner" || words.name == "outer" || words.name == "axes")
      return names_of(ranking.job.axes);
    return {};
  }
  template <std::same_as<int> Int>
  std::string write(Int number, const FieldWords& words) const {
    if (words.name == "reduction") return quoted(ranking.job.reductions[number].name);
    const auto names = names_for(words);
    return names ? quoted((*names)[number]) : std::to_string(number);
  }
  void read(const JsonReader& json, const FieldWords& words, int& number) const {
    // A ranking repeats the name of each reduction for people; its place in the list decides.
    if (words.name == "reduction") {
      if (json.text() != ranking.job.reductions[reduction].name)
        json.fail("is not the job's reduction of this number", kAgain);
      number = reduction;
    } else if (const auto names = names_for(words)) {
      const std::string name = json.text(400);
      const auto at = std::ranges::find(*names, name);
      if (at == names->end()) json.fail(fmt::format("'{}': there is no such {}", name, words.name), kAgain);
      number = static_cast<int>(at - names->begin());
    } else {
      PlainFields().read(json, words, number);
    }
  }
  void read(const JsonReader& json, const FieldWords& words, std::string& text) const {
    text = json.text(words.name == "fault" ? words.longest : 400);
    if (!is_known(words, text)) json.fail("unknown '" + text + "'", kAgain);
  }

  // --- Forms of their own ---

  std::string write(const Hierarchy& hierarchy, const FieldWords&) const { return to_json(hierarchy); }
  std::string write(const Job& job, const FieldWords&) const { return to_json(job); }
  template <typename Value>
  requires(indent_of<Value>() != nullptr) std::string
      write(const std::vector<Value>& values, const FieldWords& words)
  const {
    std::vector<std::string> texts;
    for (const Value& each : values) texts.push_back(write_value(each, words, inner()));
    return lines(texts, indent_of<Value>());
  }
  std::string write(const ReductionRanking& each, const FieldWords&) const {
    return write_fields(each, of(each.levels));
  }
  std::string write(const Conditions& conditions, const FieldWords&) const {
    return write_fields(conditions, inner());
  }
  // A strategy that the user brought may be over other levels than those that were searched; then it states
  // them.
  std::string write(const OwnStrategy& own, const FieldWords&) const {
    OwnStrategy shown = own;
    RankingFields codec = of(own.levels);
    codec.is_listed = false;
    if (own.levels == *levels) shown.levels.clear();  // those of the other strategies need not be repeated
    return write_fields(shown, codec);
  }
  std::string write(const Counts& counts, const FieldWords&) const {
    std::vector<std::string> members;
    for (std::size_t k = 0; k < counts.size(); ++k)
      members.push_back(fmt::format(R"("{}":{})", kSynthesisChoices[k].name, counts[k]));
    return fmt::format("{{{}}}", fmt::join(members, ","));
  }

  void read(const JsonReader& json, const FieldWords&, Hierarchy& hierarchy) const {
    hierarchy = read_hierarchy(json);
  }
  void read(const JsonReader& json, const FieldWords&, Job& job) const { job = read_job(json, may_be_idle); }
  void read(const JsonReader& json, const FieldWords&, Conditions& conditions) const {
    conditions = read_fields<Conditions>(json, inner());
  }
  void read(const JsonReader& json, const FieldWords&, ReductionRanking& each) const {
    require_fields<ReductionRanking>(json);
    read_members(json, each, of(each.levels));
    if (each.levels.empty() || each.sizes.size() != each.levels.size())
      json["sizes"].fail("is not a size for each level", kAgain);
  }
  // In the order of the job's reductions, which is how one without a name is known.
  void read(const JsonReader& json, const FieldWords& words, std::vector<ReductionRanking>& all) const {
    if (json.size(words.longest) != ranking.job.reductions.size())
      json.fail("is not one for each of the job's", kAgain);
    RankingFields codec = *this;
    for (; codec.reduction < std::ssize(ranking.job.reductions); ++codec.reduction)
      codec.read(json.at(codec.reduction), words, all.emplace_back());
  }
  void read(const JsonReader& json, const FieldWords&, OwnStrategy& own) const {
    require_fields<OwnStrategy>(json);
    if (!json.has("levels") && !json.has("fault")) own.levels = *levels;
    RankingFields codec = of(own.levels);
    codec.is_listed = false;
    read_members(json, own, codec);
  }
  void read(const JsonReader& json, const FieldWords& words, Counts& counts) const {
    json.require_object({"system", "columns", "rows", "reduction"});
    for (std::size_t k = 0; k < counts.size(); ++k)
      PlainFields().read(json[kSynthesisChoices[k].name.data()], words, counts[k]);
  }
  void read(const JsonReader& json, const FieldWords&, ListedInstruction& each) const {
    require_fields<ListedInstruction>(json);
    read_members(json, each, *this);
    const StrategyInstruction& instruction = each.priced.instruction;
    if (instruction.form != StrategyInstruction::Form::InsideGroup &&
        instruction.ancestor >= instruction.slice)
      json["ancestor"].fail("is not outside of the slice", kAgain);
  }
  // Groups of devices, or the matrix.
  void read(const JsonReader& json, const FieldWords& words, std::vector<std::vector<int>>& rows) const {
    const bool groups = words.name == "groups";
    const std::size_t longest = groups ? static_cast<std::size_t>(devices(ranking.hierarchy)) : words.longest;
    const int most = groups ? static_cast<int>(longest) - 1 : static_cast<int>(words.most);
    for (const JsonReader& row : json.elements(longest))
      rows.push_back(row.integers(longest, static_cast<int>(words.least), most));
  }
  void read(const JsonReader& json, const FieldWords&, RankedMatrix& ranked) const {
    require_fields<RankedMatrix>(json);
    read_members(json, ranked, inner());
    require_shape(json, ranked.matrix);
  }
  // A matrix of axes x levels; orders, where there are any, are a permutation of the axes for each level.
  void require_shape(const JsonReader& json, const ParallelismMatrix& matrix) const {
    const std::size_t axes = ranking.job.axes.size(), levels_of_machine = ranking.hierarchy.levels.size();
    const auto is_of = [](const std::vector<std::vector<int>>& rows, std::size_t count, std::size_t size) {
      return rows.size() == count &&
             std::ranges::all_of(rows, [&](const std::vector<int>& row) { return row.size() == size; });
    };
    if (!is_of(matrix.factors, axes, levels_of_machine))
      json["matrix"].fail("has not a row for each axis, with a factor for each level", kAgain);
    if (matrix.orders.empty()) return;
    const auto names_all = [](std::vector<int> order) {
      std::ranges::sort(order);
      for (std::size_t k = 0; k < order.size(); ++k)
        if (order[k] != static_cast<int>(k)) return false;
      return true;
    };
    if (!is_of(matrix.orders, levels_of_machine, axes) || !std::ranges::all_of(matrix.orders, names_all))
      json["orders"].fail("has not an order for each level, which names every axis once", kAgain);
  }
  // A size for each axis of the job.
  void read(const JsonReader& json, const FieldWords& words, std::vector<RankedSizes>& all) const {
    for (const JsonReader& each : json.elements(words.longest)) {
      all.push_back(read_fields<RankedSizes>(each, inner()));
      if (all.back().sizes.size() != ranking.job.axes.size())
        each["sizes"].fail("is not one for each axis", kAgain);
    }
  }
  // Sentences are for people: their words follow from the rest, and change.
  void require(const JsonReader& stated, const std::vector<std::string>&) const {
    constexpr std::size_t kMost = 1'000'000, kLongest = 10'000;
    stated.texts(kMost, kLongest);
  }
};

}  // namespace

std::string to_json(const Ranking& ranking) {
  return fmt::format("{{\n\"chorale_ranking\": {},\n", kRankingVersion)
      .append(write_members(ranking, RankingFields{ranking}))
      .append("\n}\n");
}

// Only the beginning is searched: a ranking may have many megabytes, and writers put this key first.
bool is_ranking(std::string_view text) {
  constexpr std::size_t kBeginning = 100;
  return text.substr(0, kBeginning).find("\"chorale_ranking\"") != std::string_view::npos;
}

Ranking ranking_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  require_fields<Ranking>(json, {"chorale_ranking"});
  if (json["chorale_ranking"].integer(1, 1 << 30) != kRankingVersion)
    json["chorale_ranking"].fail("is of another version", kAgain);
  Ranking ranking;
  RankingFields codec{ranking};
  // Where sizes were chosen, the best ones may leave nothing to communicate.
  codec.may_be_idle = json.has("choices");
  read_members(json, ranking, codec);
  return ranking;
}

}  // namespace chorale
