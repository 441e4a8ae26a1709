// The data of a result's page: the picture of the machine, and for each point its sends by step,
// the number of complete chunks by rank and step, and texts that the API has made (PageNotes). The script
// (pages/result.js) draws and animates them.
//
// A page is for a person, who reads no million sends, and is to open at once: its data fit kMaxPageData,
// whatever the machine and the result. The machine comes first, then the table of points; what is left is
// shared by the points, and each has as many of its steps drawn, from the first on, as fit. Numbers are
// columns, not rows: those of regular machines are runs of equal differences, a tenth of the text.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ir/frontier.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "pages/page.h"
#include "pages/picture.h"
#include "semantics/state.h"

namespace chorale {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxMachineBytes = 400'000, kMaxTableBytes = 250'000;
constexpr std::size_t kMaxNameBytes = 200, kMaxWordsBytes = 1'000;  // of one text
constexpr long long kMaxSends = 100'000;  // of all points: a script lays each out when its point is chosen
constexpr std::size_t kMaxCables = 20'000, kMaxNodes = 20'000;  // of which a browser makes an element each

// Encoded: what is written as an escape counts as that.
std::size_t bytes_of(const json& data) {
  return data.dump(-1, ' ', true, json::error_handler_t::replace).size();
}

std::string clipped(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;  // within a character
  return text.substr(0, most) + "...";
}

// [7, [0, 255], 3]: a 7, 255 zeros, a 3. spread() in page.js reads it.
template <typename Values>
json column(const Values& values) {
  constexpr std::ptrdiff_t kMinRun = 4;  // "[0,4]" is shorter than four zeros
  json made = json::array();
  for (auto at = values.begin(); at != values.end();) {
    const auto end = std::find_if(at, values.end(), [&](const auto& each) { return each != *at; });
    if (end - at >= kMinRun)
      made.push_back({*at, end - at});
    else
      for (auto each = at; each != end; ++each) made.push_back(*each);
    at = end;
  }
  return made;
}

// The first, then by how much each exceeds the one before it; sums() in page.js.
json column_of_differences(std::vector<long long> numbers) {
  std::adjacent_difference(numbers.begin(), numbers.end(), numbers.begin());
  return column(numbers);
}

// A member of each, in thousandths, which are less than a pixel.
template <typename Items, typename Value>
json thousandths(const Items& items, Value value) {
  std::vector<long long> numbers;
  for (const auto& item : items) numbers.push_back(std::llround(1000 * value(item)));
  return column(numbers);
}
template <typename Items, typename Value>
json numbers(const Items& items, Value value) {
  std::vector<long long> each;
  for (const auto& item : items) each.push_back(value(item));
  return column(each);
}
template <typename Items, typename Value>
json rising(const Items& items, Value value) {
  std::vector<long long> each;
  for (const auto& item : items) each.push_back(value(item));
  return column_of_differences(std::move(each));
}

// Columns of nodes; of lines, whose ends are relative to the middle of their nodes; of the lines of each
// link, one link after the other.
json picture_json(const Picture& picture, bool with_cables) {
  using Node = PictureNode;
  const std::vector<Node>& nodes = picture.nodes;
  std::vector<std::string> names;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    names.push_back(nodes[n].name == std::to_string(n) ? "" : clipped(nodes[n].name, kMaxNameBytes));
  json made = {{"shape", picture.shape}, {"width", picture.width}, {"height", picture.height}};
  made["nodes"] = {{"kind", numbers(nodes, [](const Node& n) { return static_cast<int>(n.kind); })},
                   {"name", column(names)},
                   {"x", thousandths(nodes, [](const Node& n) { return n.at.x; })},
                   {"y", thousandths(nodes, [](const Node& n) { return n.at.y; })},
                   {"width", thousandths(nodes, [](const Node& n) { return n.width; })},
                   {"height", thousandths(nodes, [](const Node& n) { return n.height; })}};
  json boxes = json::array();
  for (const Box& b : picture.boxes)
    boxes.push_back({clipped(b.name, kMaxNameBytes), b.left, b.top, b.right, b.bottom, b.name_below ? 1 : 0});
  made["boxes"] = std::move(boxes);
  const std::vector<Line> lines = with_cables ? picture.lines : std::vector<Line>();
  made["lines"] = {{"a", rising(lines, [](const Line& w) { return w.a; })},
                   {"b", rising(lines, [](const Line& w) { return w.b; })},
                   {"from_x", thousandths(lines, [&](const Line& w) { return w.start.x - nodes[w.a].at.x; })},
                   {"from_y", thousandths(lines, [&](const Line& w) { return w.start.y - nodes[w.a].at.y; })},
                   {"to_x", thousandths(lines, [&](const Line& w) { return w.end.x - nodes[w.b].at.x; })},
                   {"to_y", thousandths(lines, [&](const Line& w) { return w.end.y - nodes[w.b].at.y; })},
                   {"bandwidth", numbers(lines, [](const Line& w) { return w.bandwidth; })},
                   {"there", numbers(lines, [](const Line& w) { return w.there ? 1 : 0; })},
                   {"back", numbers(lines, [](const Line& w) { return w.back ? 1 : 0; })},
                   {"bend", thousandths(lines, [](const Line& w) { return w.bend; })},
                   {"wraps", numbers(lines, [](const Line& w) { return w.wraps ? 1 : 0; })},
                   {"out_x", thousandths(lines, [](const Line& w) { return w.out.x; })},
                   {"out_y", thousandths(lines, [](const Line& w) { return w.out.y; })}};
  std::vector<long long> lengths, ways;
  if (with_cables)
    for (const std::vector<int>& way : picture.routes) {
      lengths.push_back(std::ssize(way));
      ways.insert(ways.end(), way.begin(), way.end());
    }
  made["lengths"] = column(lengths);
  made["ways"] = column_of_differences(std::move(ways));
  return made;
}

// As much of the machine as has room: cables first go, and then all of the picture. Links are drawn over
// cables, so without those no schedule is.
struct DrawnMachine {
  json data = {};
  bool has_cables = false;
};
// GB/s of one chunk per round; 0 where links differ in that.
double unit_gbs(const Topology& t) {
  if (t.links.empty()) return 0;
  const double beta = t.links.front().beta_us_per_byte;
  return std::ranges::all_of(t.links, [&](const Link& l) { return l.beta_us_per_byte == beta; }) ? 1e-3 / beta
                                                                                                 : 0;
}

DrawnMachine machine_of(const Topology& t, DrawingWork& work) {
  DrawnMachine drawn{
      .data = {{"name", clipped(t.name, kMaxNameBytes)},
               {"ranks", t.ranks},
               {"link_count", t.links.size()},
               {"limits", t.limits.size()},
               {"unit_gbs", unit_gbs(t)},
               {"links", {{"src", json::array()}, {"dst", json::array()}, {"bandwidth", json::array()}}}}};
  Picture picture;
  if (static_cast<std::size_t>(t.ranks) <= kMaxNodes) picture = picture_of(t, work);
  if (picture.nodes.size() > kMaxNodes) picture = {};
  if (!picture.nodes.empty() && picture.lines.size() <= kMaxCables) {
    json links = {{"src", rising(t.links, [](const Link& l) { return l.src; })},
                  {"dst", rising(t.links, [](const Link& l) { return l.dst; })},
                  {"bandwidth", numbers(t.links, [](const Link& l) { return l.bandwidth; })}};
    json whole = picture_json(picture, true);
    drawn.has_cables = bytes_of(whole) + bytes_of(links) <= kMaxMachineBytes;
    if (drawn.has_cables) {
      drawn.data["links"] = std::move(links);
      drawn.data["picture"] = std::move(whole);
      return drawn;
    }
  }
  json nodes = picture_json(picture, false);
  drawn.data["picture"] = bytes_of(nodes) <= kMaxMachineBytes ? std::move(nodes) : picture_json({}, false);
  return drawn;
}

// The steps of a point that are drawn, one after the other. Of each its sends by link and chunk, with 1 where
// they add. And for each rank how many of the chunks that it needs the step completes there: the verifier's
// own state is stepped through the schedule, so the page shows what the schedule does and not what it claims.
class DrawnSteps {
 public:
  DrawnSteps(const Topology& t, const Point& point)
      : topology_(t), point_(point), state_(t, point.collective) {}

  // From the first on, as many as fit these bytes and sends. Takes what it uses.
  json steps(std::size_t& bytes, long long& sends) {
    json made = json::array();
    for (const Step& step : point_.schedule.steps) {
      const long long more = std::ssize(step.sends);
      if (more > sends) break;
      json drawn = step_of(step);
      const std::size_t size = bytes_of(drawn) + 1;
      if (size > bytes) break;
      bytes -= size;
      sends -= more;
      made.push_back(std::move(drawn));
    }
    return made;
  }

 private:
  json step_of(const Step& step) {
    std::vector<std::size_t> order(step.sends.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return std::pair(step.sends[i].link, step.sends[i].chunk); });
    const auto send = [&](std::size_t i) -> const Send& { return step.sends[i]; };
    return {{"rounds", step.rounds},
            {"link", rising(order, [&](std::size_t i) { return send(i).link; })},
            {"chunk", rising(order, [&](std::size_t i) { return send(i).chunk; })},
            {"adds", numbers(order, [&](std::size_t i) { return send(i).reduce ? 1 : 0; })},
            {"completes", column(completed_by(step))}};
  }

  std::vector<int> completed_by(const Step& step) {
    std::vector<std::pair<Rank, Chunk>> reached;
    for (const Send& send : step.sends)
      if (const Rank r = topology_.links[send.link].dst; ends_at(point_.collective.chunks[send.chunk], r))
        reached.emplace_back(r, send.chunk);
    std::ranges::sort(reached);
    const auto repeated = std::ranges::unique(reached);
    reached.erase(repeated.begin(), repeated.end());
    std::vector<int> completed(topology_.ranks, 0);
    for (const auto& [r, c] : reached) completed[r] -= state_.is_complete(c, r) ? 1 : 0;
    state_.apply(step);
    for (const auto& [r, c] : reached) completed[r] += state_.is_complete(c, r) ? 1 : 0;
    return completed;
  }

  const Topology& topology_;
  const Point& point_;
  State state_;
};

// Without its schedule. `wanted` is what `complete` counts up to, by rank.
json point_of(const Topology& t, const Point& point) {
  std::vector<int> wanted(t.ranks, 0), complete(t.ranks, 0), first;
  for (const ChunkSpec& chunk : point.collective.chunks) {
    // What gives the chunk its colour: where it comes from, or of a sum where it goes to.
    const RankSet& ranks = point.collective.combining ? chunk.post : chunk.pre;
    first.push_back(ranks.size() == 1 ? ranks.front() : -1);
    for (const Rank r : chunk.post) ++wanted[r];
    // Before the first step: a copy, or a sum of nothing but its own.
    for (const Rank r : chunk.post)
      complete[r] += starts_at(chunk, r) && (!point.collective.combining || chunk.pre.size() == 1) ? 1 : 0;
  }
  return {{"steps", point.cost.steps},
          {"rounds", point.cost.rounds},
          {"chunks", point.cost.chunks},
          {"origin", clipped(origin(point), kMaxWordsBytes)},
          {"frontier", point.on_frontier},
          {"proven", point.proven},
          {"sends", total_sends(point.schedule)},
          {"colour", column(first)},
          {"wanted", column(wanted)},
          {"complete", column(complete)}};
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

// Those with the fewest sends first, so that what they leave is for the others.
void draw_schedules(const Result& result, json& data) {
  json& points = data["points"];
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return total_sends(result.points[i].schedule); });
  const std::size_t used = bytes_of(data);
  std::size_t bytes = kMaxPageData - std::min(used, kMaxPageData);
  long long sends = kMaxSends;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t left = order.size() - k, share = bytes / left;
    const long long share_of_sends = sends / static_cast<long long>(left);
    std::size_t rest = share;
    long long rest_of_sends = share_of_sends;
    points[order[k]]["schedule"] =
        DrawnSteps(result.topology, result.points[order[k]]).steps(rest, rest_of_sends);
    bytes -= share - rest;
    sends -= share_of_sends - rest_of_sends;
  }
}

}  // namespace

namespace {

// A report that is too large for a page is left out.
json data_of(const Report& report) {
  const std::string text = write_fields(report, CompactFields());
  return text.size() <= kMaxTableBytes ? json::parse(text) : json();
}

}  // namespace

std::string page_title(const Result& result) {
  return clipped(result.topology.name, kMaxNameBytes) + " " +
         clipped(name_of(result.collective), kMaxNameBytes) + ": " +
         counted(std::ssize(result.points), "point") + " - Chorale";
}

std::string to_html(const Result& result, const PageNotes& notes, DrawingWork work) {
  DrawnMachine machine = machine_of(result.topology, work);
  json points = json::array();
  std::size_t table = 0;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const Point& each = result.points[i];
    json point = point_of(result.topology, each);
    point["sizes"] = i < notes.best_sizes.size() ? clipped(notes.best_sizes[i], kMaxWordsBytes) : "";
    if (leaves_a_gap(each)) point["least"] = {each.bound.rounds, each.bound.chunks};
    point["certificate"] = i < notes.proven_by.size() ? clipped(notes.proven_by[i], kMaxWordsBytes) : "";
    point["schedule"] = json::array();
    table += bytes_of(point);
    if (table > kMaxTableBytes) break;
    points.push_back(std::move(point));
  }
  json data = {{"topology", std::move(machine.data)},
               {"collective", clipped(asked(result.collective), kMaxNameBytes)},
               {"summary", clipped(summary_of(result), kMaxWordsBytes)},
               {"bound", {notes.bound_rounds, notes.bound_chunks}},
               {"report", data_of(notes.report)},
               {"point_count", result.points.size()},
               {"points", std::move(points)}};
  if (machine.has_cables) draw_schedules(result, data);
  return filled_page(Page::Result, page_title(result),
                     data.dump(-1, ' ', true, json::error_handler_t::replace));
}

std::string machine_html(const Topology& machine, const Report& report, DrawingWork work) {
  const std::string switches = in_words(abilities_of(machine));
  const json data = {{"topology", machine_of(machine, work).data},
                     {"collective", ""},
                     {"summary", switches.empty() ? "" : "Its switches " + switches + "."},
                     {"bound", {0, 1}},
                     {"report", data_of(report)},
                     {"point_count", 0},
                     {"points", json::array()}};
  return filled_page(Page::Result, clipped(machine.name, kMaxNameBytes) + " - Chorale",
                     data.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace chorale
