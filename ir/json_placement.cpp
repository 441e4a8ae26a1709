// Hierarchies and jobs. A line of text names as many devices as it likes, so levels, axes and devices are
// bounded while they are read.
#include <algorithm>
#include <cmath>

#include "ir/hierarchy.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "ir/placement.h"

namespace chorale {
namespace {

constexpr int kMostLevels = 8, kMostAxes = 8;
constexpr int kMostInARing = 1024;  // every pair is followed round the ring
constexpr long long kMostDevices = 1LL << 24;
constexpr double kMostReductionBytes = 1e18;

struct LevelFields : PlainFields {
  using PlainFields::read, PlainFields::write;
  std::string write(LinkModel::Shape shape, const FieldWords&) const {
    return shape == LinkModel::Shape::Ring ? R"("ring")" : R"("switch")";
  }
  void read(const JsonReader& json, const FieldWords&, LinkModel::Shape& shape) const {
    const std::string text = json.text();
    if (text != "switch" && text != "ring") json.fail("unknown shape '" + text + "'", "use switch or ring");
    shape = text == "ring" ? LinkModel::Shape::Ring : LinkModel::Shape::Switch;
  }
};

Level read_level(const JsonReader& json) {
  const Level level = read_fields<Level>(json, LevelFields());
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

int index_of(const std::vector<Axis>& axes, const JsonReader& json) {
  const std::string name = json.text(40);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return static_cast<int>(i);
  json.fail("'" + name + "' is not an axis of the job", "name one of its axes");
}

Goal read_goal(const JsonReader& json) {
  const std::string text = json.text(40);
  if (const std::optional<Goal> goal = value_in<Goal>(kGoalNames, text)) return *goal;
  json.fail("'" + text + "' is not a goal", "use allreduce, reducescatter, allgather, alltoall or shift");
}

std::string write_after(const Job& job, const Reduction& reduction) {
  if (!reduction.after) return "";
  std::vector<std::string> names;
  for (int before : *reduction.after) names.push_back(quoted(job.reductions[before].name));
  return fmt::format(R"(,"after":[{}])", fmt::join(names, ","));
}

}  // namespace

std::string to_json(const Hierarchy& hierarchy) {
  std::vector<std::string> levels;
  for (const Level& level : hierarchy.levels) levels.push_back(write_fields(level, LevelFields()));
  return fmt::format("{{\n  \"hierarchy\": {},\n  \"node\": {},\n  \"levels\": {}\n}}\n",
                     quoted(hierarchy.name), hierarchy.node_level, lines(levels, "  "));
}

Hierarchy hierarchy_from_json(std::string_view text, const std::string& file) {
  return read_hierarchy(parse_json(text, file));
}

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
  std::vector<std::string> axes, reductions;
  for (const Axis& axis : job.axes) axes.push_back(write_fields(axis));
  for (const Reduction& reduction : job.reductions) {
    std::vector<std::string> over;
    for (int axis : reduction.axes) over.push_back(quoted(job.axes[axis].name));
    reductions.push_back(
        fmt::format(R"({{"name":{},"goal":"{}","axes":[{}],"bytes":{},"times":{},"element_bytes":{}{}}})",
                    quoted(reduction.name), name(reduction.goal), fmt::join(over, ","), reduction.bytes,
                    reduction.times, reduction.element_bytes, write_after(job, reduction)));
  }
  return fmt::format("{{\n  \"job\": {},\n  \"axes\": {},\n  \"reductions\": {}\n}}\n", quoted(job.name),
                     lines(axes, "  "), lines(reductions, "  "));
}

Reduction read_reduction_over(const JsonReader& json, const std::vector<Axis>& axes) {
  Reduction reduction;
  if (json.has("name")) reduction.name = json["name"].text();
  if (json.has("goal")) reduction.goal = read_goal(json["goal"]);
  if (json.has("element_bytes")) reduction.element_bytes = json["element_bytes"].integer(1, 64);
  const JsonReader over = json["axes"];
  for (std::size_t k = 0; k < over.size(kMostAxes); ++k) reduction.axes.push_back(index_of(axes, over.at(k)));
  std::sort(reduction.axes.begin(), reduction.axes.end());
  if (reduction.axes.empty()) over.fail("is empty", "name at least one axis");
  if (std::adjacent_find(reduction.axes.begin(), reduction.axes.end()) != reduction.axes.end())
    over.fail("names an axis twice", "name each once");
  return reduction;
}

void read_after(const JsonReader& json, const std::vector<std::string>& before, Reduction& reduction) {
  if (!json.has("after")) return;
  const JsonReader after = json["after"];
  reduction.after.emplace();
  for (std::size_t k = 0; k < after.size(1000); ++k) {
    const std::string name = after.at(k).text();
    const auto at = std::ranges::find(before, name);
    if (at == before.end())
      after.at(k).fail("no reduction before this one is called '" + name + "'",
                       "name earlier ones, or put this one behind them");
    if (std::ranges::count(before, name) > 1)
      after.at(k).fail("several reductions are called '" + name + "'", "give them names of their own");
    const int number = static_cast<int>(at - before.begin());
    if (std::ranges::find(*reduction.after, number) != reduction.after->end())
      after.at(k).fail("names '" + name + "' twice", "name each once");
    reduction.after->push_back(number);
  }
  std::ranges::sort(*reduction.after);
}

Job job_from_json(std::string_view text, const std::string& file) {
  return read_job(parse_json(text, file));
}

Job read_job(const JsonReader& json, bool may_be_idle) {
  json.require_object({"job", "axes", "reductions"});
  Job job{.name = json["job"].text()};
  const JsonReader axes = json["axes"];
  for (std::size_t i = 0; i < axes.size(kMostAxes); ++i) {
    Axis axis = read_fields<Axis>(axes.at(i));
    for (const Axis& other : job.axes)
      if (other.name == axis.name)
        axes.at(i)["name"].fail("is the name of another axis, too", "choose another");
    job.axes.push_back(std::move(axis));
  }
  if (job.axes.empty()) axes.fail("is empty", "list at least one axis");
  const JsonReader reductions = json["reductions"];
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reductions.size(1000); ++i) {
    const JsonReader each = reductions.at(i);
    each.require_object({"name", "goal", "axes", "bytes", "times", "element_bytes", "after"});
    Reduction reduction = read_reduction_over(each, job.axes);
    reduction.bytes = each["bytes"].number(1, kMostReductionBytes);
    if (each.has("times")) reduction.times = each["times"].number(1e-9, 1e12);
    read_after(each, names, reduction);
    names.push_back(reduction.name);
    job.reductions.push_back(std::move(reduction));
  }
  if (job.reductions.empty() && !may_be_idle) reductions.fail("is empty", "list at least one reduction");
  return job;
}

}  // namespace chorale
