// Hierarchies and jobs. A line of text names as many devices as it likes, so levels, axes and devices are
// bounded while they are read.
#include <algorithm>
#include <cmath>

#include "ir/hierarchy.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "ir/placement.h"

namespace chorale {
namespace {

constexpr int kMostLevels = 8, kMostAxes = 8, kMostFanOut = 1 << 20;
constexpr int kMostInARing = 1024;  // every pair is followed round the ring
constexpr long long kMostDevices = 1LL << 24;
constexpr double kLeastGbs = 1e-6, kMostGbs = 1e9, kMostLatency = 1e9, kMostReductionBytes = 1e18;

SharedPath read_path(const JsonReader& json) {
  json.require_object({"bandwidth_gbs", "children"});
  return {.bandwidth_gbs = json["bandwidth_gbs"].number(kLeastGbs, kMostGbs),
          .children = json.has("children") ? json["children"].integer(1, kMostFanOut) : 1};
}

HostPath read_host(const JsonReader& json) {
  json.require_object({"uplink", "socket"});
  const HostPath host{.uplink = read_path(json["uplink"]), .socket = read_path(json["socket"])};
  if (host.socket.children % host.uplink.children != 0)
    json["socket"].fail(
        fmt::format("{} children are not whole uplinks of {}", host.socket.children, host.uplink.children),
        "use a multiple");
  return host;
}

Level read_level(const JsonReader& json) {
  json.require_object({"name", "fan_out", "shape", "bandwidth_gbs", "ports", "latency_us", "stream_gbs",
                       "rails", "exit", "detour", "host"});
  Level level{.name = json["name"].text(40), .fan_out = json["fan_out"].integer(1, kMostFanOut)};
  if (level.name.empty() || level.name == "root")
    json["name"].fail("is no name for a level", "choose another");
  LinkModel& link = level.link;
  if (json.has("shape")) {
    const std::string shape = json["shape"].text();
    if (shape != "switch" && shape != "ring")
      json["shape"].fail("unknown shape '" + shape + "'", "use switch or ring");
    if (shape == "ring") link.shape = LinkModel::Shape::Ring;
    if (shape == "ring" && level.fan_out > kMostInARing)
      json["fan_out"].fail(fmt::format("{} children in a ring", level.fan_out),
                           fmt::format("use at most {}, or a switch", kMostInARing));
  }
  link.bandwidth_gbs = json["bandwidth_gbs"].number(kLeastGbs, kMostGbs);
  if (json.has("ports")) link.ports = json["ports"].integer(1, 1024);
  if (json.has("latency_us")) link.latency_us = json["latency_us"].number(0, kMostLatency);
  if (json.has("stream_gbs")) link.stream_gbs = json["stream_gbs"].number(kLeastGbs, kMostGbs);
  if (json.has("rails")) link.rails = json["rails"].boolean();
  if (json.has("exit")) link.exit = read_path(json["exit"]);
  if (json.has("detour")) {
    if (link.shape != LinkModel::Shape::Ring) json["detour"].fail("is for rings", "remove it");
    link.detour = read_path(json["detour"]);
  }
  if (json.has("host")) {
    if (link.shape != LinkModel::Shape::Ring) json["host"].fail("is for rings", "remove it");
    if (link.exit || link.detour) json["host"].fail("is in place of exit and detour", "remove these, or it");
    link.host = read_host(json["host"]);
  }
  return level;
}

std::string write_path(const char* key, const SharedPath& path) {
  return fmt::format(R"("{}":{{"bandwidth_gbs":{},"children":{}}})", key, path.bandwidth_gbs, path.children);
}

std::string write_path(const char* key, const std::optional<SharedPath>& path) {
  return path ? "," + write_path(key, *path) : "";
}

std::string write_host(const std::optional<HostPath>& host) {
  if (!host) return "";
  return fmt::format(R"(,"host":{{{},{}}})", write_path("uplink", host->uplink),
                     write_path("socket", host->socket));
}

std::string write_level(const Level& level) {
  const LinkModel& link = level.link;
  return fmt::format(
      R"({{"name":{},"fan_out":{},"shape":"{}","bandwidth_gbs":{},"ports":{},"latency_us":{}{}{}{}{}{}}})",
      quoted(level.name), level.fan_out, link.shape == LinkModel::Shape::Ring ? "ring" : "switch",
      link.bandwidth_gbs, link.ports, link.latency_us,
      link.stream_gbs > 0 ? fmt::format(R"(,"stream_gbs":{})", link.stream_gbs) : "",
      link.rails ? R"(,"rails":true)" : "", write_path("exit", link.exit), write_path("detour", link.detour),
      write_host(link.host));
}

int index_of(const std::vector<Axis>& axes, const JsonReader& json) {
  const std::string name = json.text(40);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return static_cast<int>(i);
  json.fail("'" + name + "' is not an axis of the job", "name one of its axes");
}

Goal read_goal(const JsonReader& json) {
  const std::string text = json.text(40);
  for (const Goal goal : kAllGoals)
    if (text == name(goal)) return goal;
  json.fail("'" + text + "' is no goal", "use allreduce, reducescatter, allgather, alltoall or shift");
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
  for (const Level& level : hierarchy.levels) levels.push_back(write_level(level));
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
  for (const Axis& axis : job.axes)
    axes.push_back(fmt::format(R"({{"name":{},"size":{}}})", quoted(axis.name), axis.size));
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
    axes.at(i).require_object({"name", "size"});
    Axis axis{.name = axes.at(i)["name"].text(40), .size = axes.at(i)["size"].integer(1, kMostFanOut)};
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
