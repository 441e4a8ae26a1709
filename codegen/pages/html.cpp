#include "codegen/pages/html.h"

#include <nlohmann/json.hpp>

#include "codegen/pages/page.h"
#include "codegen/passes/layout.h"
#include "semantics/state.h"

namespace chorale {
namespace {

using nlohmann::json;

json topology_of(const Topology& t) {
  json places = json::array(), links = json::array(), limits = json::array();
  for (const Spot& p : layout(t)) places.push_back({p.x, p.y});
  for (const Link& l : t.links) links.push_back({l.src, l.dst, l.bandwidth});
  for (const SharedLimit& l : t.limits)
    limits.push_back({{"name", l.name}, {"links", l.links.size()}, {"bandwidth", l.bandwidth}});
  return {{"name", t.name},
          {"ranks", t.ranks},
          {"places", places},
          {"links", links},
          {"limits", std::move(limits)}};
}

// How many of the chunks that each rank wants are complete there; before the first step and after each.
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

json point_of(const Topology& t, const Point& point) {
  json steps = json::array(), first = json::array();
  for (const Step& step : point.schedule.steps) {
    json sends = json::array();
    for (const Send& send : step.sends) sends.push_back({send.chunk, send.link, send.reduce ? 1 : 0});
    steps.push_back({{"rounds", step.rounds}, {"sends", std::move(sends)}});
  }
  std::vector<int> wanted(t.ranks, 0);
  for (const ChunkSpec& chunk : point.collective.chunks) {
    // What gives the chunk its colour: where it comes from, or of a sum where it goes to.
    const std::vector<Rank>& ranks = point.collective.combining ? chunk.post : chunk.pre;
    first.push_back(ranks.size() == 1 ? ranks.front() : -1);
    for (Rank r : chunk.post) ++wanted[r];
  }
  return {{"steps", point.cost.steps},        {"rounds", point.cost.rounds},   {"chunks", point.cost.chunks},
          {"method", point.method},           {"frontier", point.on_frontier}, {"proven", point.proven},
          {"schedule", std::move(steps)},     {"colour", std::move(first)},    {"wanted", wanted},
          {"progress", progress_of(t, point)}};
}

}  // namespace

std::string to_html(const Result& result, const PageNotes& notes) {
  json points = json::array();
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    points.push_back(point_of(result.topology, result.points[i]));
    points.back()["sizes"] = i < notes.best_sizes.size() ? notes.best_sizes[i] : "";
    points.back()["certificate"] = i < notes.proven_by.size() ? notes.proven_by[i] : "";
  }
  const json data = {{"topology", topology_of(result.topology)},
                     {"collective", result.collective.name},
                     {"min_chunks", result.space.min_chunks},
                     {"max_chunks", result.space.max_chunks},
                     {"complete", result.complete},
                     {"stopped", name_of(result.stopped)},
                     {"bound", {notes.bound_rounds, notes.bound_chunks}},
                     {"points", std::move(points)}};
  return filled_page(page_template(), data.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace chorale
