// The data of a result's page: the picture of the machine, and for each point its sends by step and round,
// the number of complete chunks by rank and step, and texts that the API has made (PageNotes). Rows are
// arrays, not objects: a page of a large result has a million sends. The script (pages/result.js) draws and
// animates them.
#include "pages/html.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/words.h"
#include "pages/draw.h"
#include "pages/page.h"
#include "pages/timetable.h"
#include "semantics/state.h"

namespace chorale {
namespace {

using nlohmann::json;

// A thousandth of a unit is less than a pixel, and takes less text than a double.
double rounded(double v) {
  return std::round(v * 1000) / 1000;
}

std::string kind_name(PictureNode::Kind kind) {
  return kind == PictureNode::Kind::Rank ? "rank" : kind == PictureNode::Kind::Switch ? "switch" : "nic";
}

// In the order in which the scripts read them; a line has its nodes, ends, bandwidth, directions, bend and
// wrap.
json picture_json(const Topology& t) {
  const Picture picture = picture_of(t);
  json nodes = json::array(), lines = json::array(), boxes = json::array();
  for (const PictureNode& n : picture.nodes)
    nodes.push_back(
        {kind_name(n.kind), n.name, rounded(n.at.x), rounded(n.at.y), rounded(n.width), rounded(n.height)});
  for (const Line& w : picture.lines)
    lines.push_back({w.a, w.b, rounded(w.start.x), rounded(w.start.y), rounded(w.end.x), rounded(w.end.y),
                     w.bandwidth, w.there ? 1 : 0, w.back ? 1 : 0, rounded(w.bend), w.wraps ? 1 : 0,
                     rounded(w.out.x), rounded(w.out.y)});
  for (const Box& b : picture.boxes)
    boxes.push_back(
        {b.name, rounded(b.left), rounded(b.top), rounded(b.right), rounded(b.bottom), b.name_below ? 1 : 0});
  return {{"shape", picture.shape},           {"nodes", std::move(nodes)}, {"lines", std::move(lines)},
          {"ways", picture.routes},           {"boxes", std::move(boxes)}, {"width", rounded(picture.width)},
          {"height", rounded(picture.height)}};
}

json topology_of(const Topology& t) {
  json links = json::array();
  for (const Link& l : t.links) links.push_back({l.src, l.dst, l.bandwidth});
  return {{"name", t.name},
          {"ranks", t.ranks},
          {"links", std::move(links)},
          {"limits", t.limits.size()},
          {"picture", picture_json(t)}};
}

// How many of the chunks that each rank needs are complete there; before the first step and after each.
// The verifier's own state is stepped through the schedule, so the page shows what the schedule does and not
// what it claims.
json progress_of(const Topology& t, const Point& point) {
  State state(t, point.collective);
  json all = json::array();
  const auto count = [&] {
    std::vector<int> complete(t.ranks, 0);
    for (std::size_t c = 0; c < point.collective.chunks.size(); ++c)
      for (Rank r : point.collective.chunks[c].post)
        complete[r] += state.is_complete(static_cast<Chunk>(c), r) ? 1 : 0;
    all.push_back(complete);
  };
  count();
  for (const Step& step : point.schedule.steps) {
    state.apply(step);
    count();
  }
  return all;
}

// A send is [chunk, link, 1 if it adds, round]. The round is absent where switches compute, and where no
// timetable was found: the script then draws the step as a stream. `wanted` is what `progress` counts up to,
// by rank.
json point_of(const Topology& t, const Point& point) {
  json steps = json::array(), first = json::array();
  for (const Step& step : point.schedule.steps) {
    json sends = json::array();
    const std::vector<int> rounds = rounds_of_sends(t, step);
    for (std::size_t i = 0; i < step.sends.size(); ++i) {
      const Send& send = step.sends[i];
      sends.push_back({send.chunk, send.link, send.reduce ? 1 : 0});
      if (!rounds.empty()) sends.back().push_back(rounds[i]);  // otherwise a stream
    }
    steps.push_back({{"rounds", step.rounds}, {"sends", std::move(sends)}});
  }
  std::vector<int> wanted(t.ranks, 0);
  for (const ChunkSpec& chunk : point.collective.chunks) {
    // What gives the chunk its colour: where it comes from, or of a sum where it goes to.
    const RankSet& ranks = point.collective.combining ? chunk.post : chunk.pre;
    first.push_back(ranks.size() == 1 ? ranks.front() : -1);
    for (Rank r : chunk.post) ++wanted[r];
  }
  return {{"steps", point.cost.steps},        {"rounds", point.cost.rounds},   {"chunks", point.cost.chunks},
          {"origin", origin(point)},          {"frontier", point.on_frontier}, {"proven", point.proven},
          {"schedule", std::move(steps)},     {"colour", std::move(first)},    {"wanted", wanted},
          {"progress", progress_of(t, point)}};
}

// Whether its bound is to be drawn under the point: something is known, and less than the point has.
bool leaves_a_gap(const Point& point) {
  const Rate rate = {.rounds = point.cost.rounds, .chunks = point.cost.chunks};
  return !point.proven && point.on_frontier && point.bound.rounds > 0 && less(point.bound, rate);
}

// What the switches can do, what a block is cut into, what is known, and why the search ended: "A block is 1
// to 6 chunks. Every point is proven."
std::string summary_of(const Result& result) {
  const int least = result.space.min_chunks, most = result.space.max_chunks;
  const auto counts = [least](int to) {
    if (to == kAnyChunks)
      return least == 1 ? "any number of chunks" : std::to_string(least) + " or more chunks";
    return least == to ? counted(to, "chunk") : std::to_string(least) + " to " + counted(to, "chunk");
  };
  const std::string known =
      result.points.empty()        ? (result.complete ? "It is proven that there is no schedule"
                                                      : "No schedule was found, and none is excluded")
      : result.complete            ? "In steps and rounds per chunk every point is proven"
      : result.complete_chunks > 0 ? "No schedule of " + counts(result.complete_chunks) +
                                         " has fewer steps or rounds; of more, not everything is proven"
                                   : "Not everything is proven";
  const std::string switches = in_words(abilities_of(result.topology));
  return (switches.empty() ? "" : "Its switches " + switches + ", and what is proven holds for such. ") +
         "A block is " + counts(most) + ". " + known +
         (result.stopped == Stopped::No ? "." : " (" + name_of(result.stopped) + ").");
}

// The collective, and the order of its sums where it is not the one that all ranks agree on.
std::string asked(const Collective& collective) {
  if (!adds(collective) || collective.order.kind == SumOrder::Kind::Agreed) return name_of(collective);
  return name_of(collective) + (collective.order.kind == SumOrder::Kind::Free
                                    ? ", ranks may end with different bits"
                                    : ", added up along " + to_string(collective.order));
}

}  // namespace

std::string page_title(const Result& result) {
  return result.topology.name + " " + name_of(result.collective) + ": " +
         counted(std::ssize(result.points), "point") + " - Chorale";
}

std::string to_html(const Result& result, const PageNotes& notes) {
  json points = json::array();
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    points.push_back(point_of(result.topology, result.points[i]));
    points.back()["sizes"] = i < notes.best_sizes.size() ? notes.best_sizes[i] : "";
    if (const Rate& least = result.points[i].bound; leaves_a_gap(result.points[i]))
      points.back()["least"] = {least.rounds, least.chunks};
    points.back()["certificate"] = i < notes.proven_by.size() ? notes.proven_by[i] : "";
  }
  const json data = {{"topology", topology_of(result.topology)},
                     {"collective", asked(result.collective)},
                     {"summary", summary_of(result)},
                     {"bound", {notes.bound_rounds, notes.bound_chunks}},
                     {"figure", notes.figure},
                     {"points", std::move(points)}};
  return filled_page(Page::Result, page_title(result),
                     data.dump(-1, ' ', true, json::error_handler_t::replace));
}

std::string machine_html(const Topology& machine) {
  const std::string switches = in_words(abilities_of(machine));
  const json data = {{"topology", topology_of(machine)},
                     {"collective", ""},
                     {"summary", switches.empty() ? "" : "Its switches " + switches + "."},
                     {"bound", {0, 1}},
                     {"points", json::array()}};
  return filled_page(Page::Result, machine.name + " - Chorale",
                     data.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace chorale
