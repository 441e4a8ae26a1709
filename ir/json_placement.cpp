// Hierarchies and jobs. A line of text names as many devices as it likes, so levels, axes and devices are
// bounded while they are read.

#include <algorithm>
#include <cmath>

#include "ir/hierarchy.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/node_order.h"
#include "ir/noun_fields.h"

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
    for (std::size_t i = 0; i < json.size(words.longest); ++i) {
      const JsonReader each = json.at(i);
      axes.push_back(read_fields<Axis>(each));
      const auto has_it = [&](const Axis& other) { return other.name == axes.back().name; };
      if (std::ranges::count_if(axes, has_it) > 1)
        each["name"].fail("is the name of another axis, too", "choose another");
    }
    if (axes.empty()) json.fail("is empty", "list at least one axis");
  }
  void read(const JsonReader& json, const FieldWords& words, std::vector<Reduction>& all) const {
    for (std::size_t i = 0; i < json.size(words.longest); ++i) {
      require_fields<Reduction>(json.at(i));
      read_members(json.at(i), all.emplace_back(), inner());
    }
  }
  void read(const JsonReader& json, const FieldWords& words, std::vector<int>& axes) const {
    const std::vector<std::string> names = names_of_axes();
    for (std::size_t k = 0; k < json.size(words.longest); ++k) {
      const std::string name = json.at(k).text(40);
      const auto at = std::ranges::find(names, name);
      if (at == names.end())
        json.at(k).fail("'" + name + "' is not an axis of the job", "name one of its axes");
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
    for (std::size_t k = 0; k < json.size(words.longest); ++k) {
      const std::string name = json.at(k).text();
      const auto at = std::ranges::find(before, name);
      if (at == before.end())
        json.at(k).fail("no reduction before this one is called '" + name + "'",
                        "name earlier ones, or put this one behind them");
      // Names of reductions may repeat as long as none is referred to.
      if (std::ranges::count(before, name) > 1)
        json.at(k).fail("several reductions are called '" + name + "'", "give them names of their own");
      const int number = static_cast<int>(at - before.begin());
      if (std::ranges::find(*after, number) != after->end())
        json.at(k).fail("names '" + name + "' twice", "name each once");
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
  return fmt::format("{{\n  \"hierarchy\": {},\n  \"node\": {},\n  \"levels\": {}\n}}\n",
                     quoted(hierarchy.name), hierarchy.node_level, lines_of(hierarchy.levels, "  "));
}

Hierarchy hierarchy_from_json(std::string_view text, const std::string& file) {
  return read_hierarchy(parse_json(text, file));
}

// Devices are counted level by level, while the product still fits. Without "node" the innermost level is the
// inside of a node.
Hierarchy read_hierarchy(const JsonReader& json) {
  json.require_object({"hierarchy", "node", "levels"});
  Hierarchy hierarchy{.name = json["hierarchy"].text()};
  const JsonReader levels = json["levels"];
  for (std::size_t i = 0; i < levels.size(kMostLevels); ++i) {
    hierarchy.levels.push_back(read_level(levels.at(i)));
    for (std::size_t k = 0; k < i; ++k)
      if (hierarchy.levels[k].name == hierarchy.levels[i].name)
        levels.at(i)["name"].fail("is the name of another level, too", "choose another");
    if (devices(hierarchy) > kMostDevices)
      levels.at(i)["fan_out"].fail(fmt::format("makes more than {} devices", kMostDevices), "use fewer");
  }
  if (hierarchy.levels.empty()) levels.fail("is empty", "list at least one level");
  const int count = static_cast<int>(hierarchy.levels.size());
  hierarchy.node_level = json.has("node") ? json["node"].integer(0, count) : count - 1;
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

// The order as the list of hosts by node of the mesh, with the switch of each, so the two lists have one
// length. Communications and other orders have a line each. Written for other programs; nothing here reads
// it.

std::string to_json(const NodeOrder& order) {
  std::vector<std::string> axes, communications, others;
  for (const Axis& axis : order.job.axes)
    axes.push_back(fmt::format("{{\"name\":{},\"size\":{}}}", quoted(axis.name), axis.size));
  for (const OrderedCommunication& each : order.communications)
    communications.push_back(fmt::format("{{\"name\":{},\"us\":{},\"least_us\":{},\"busiest\":{}}}",
                                         quoted(each.name), each.us, each.least_us, quoted(each.busiest)));
  for (const auto& [name, time] : order.others)
    others.push_back(
        fmt::format("{{\"name\":{},\"us\":{},\"bytes\":{}}}", quoted(name), time.us, time.bytes));
  return fmt::format(
      "{{\"chorale_order\":1,\"job\":{},\"axes\":[{}],\"node_ranks\":{},\"node_gbs\":{},\"tapers\":[{}],\n"
      " \"us\":{},\"bytes\":{},\"bound_us\":{},\"proven\":{},\"proof\":{},\n \"hosts\":{},\n "
      "\"switches\":{},\n \"communications\":{},\n \"others\":{}}}\n",
      quoted(order.job.name), fmt::join(axes, ","), order.node_ranks, order.rates.node_gbs,
      fmt::join(order.rates.tapers, ","), order.time.us, order.time.bytes, order.bound_us, order.proven,
      quoted(order.proof), list(order.hosts), list(order.switches), lines(communications, " "),
      lines(others, " "));
}

}  // namespace chorale
