// The report of a result. Rates are exact fractions with their value ("7/6 = 1.167"), since proofs are about
// the fractions.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/report.h"
#include "ir/agreement.h"
#include "ir/json_fields.h"
#include "ir/words.h"

namespace chorale {
namespace {

// All statements below are about schedules with this order of sums.
std::string order_in_words(const Collective& collective) {
  if (!adds(collective) || collective.order.kind == SumOrder::Kind::Agreed) return "";
  if (collective.order.kind == SumOrder::Kind::Free)
    return "\nranks may add up in orders of their own, and end with different bits";
  if (adds_once(collective))
    return "\neach sum is formed in one place, in the order of the ranks, and rounded once";
  return "\nall add up in one order: " + to_string(collective.order);
}

}  // namespace

std::string chunk_counts(const Space& space) {
  if (space.max_chunks == kAnyChunks)
    return space.min_chunks == 1 ? "any number of chunks"
                                 : fmt::format("{} or more chunks", space.min_chunks);
  return space.min_chunks == space.max_chunks
             ? counted(space.min_chunks, "chunk")
             : fmt::format("{} to {} chunks", space.min_chunks, space.max_chunks);
}

// "dgx1, allgather: 8 ranks, 32 links; 1 to 6 chunks per block". Chunk counts and steps are stated of a
// frontier alone: a single question has them in its answer.
std::string heading(const Result& result) {
  const Topology& topology = result.topology;
  std::string text = fmt::format("{}, {}: {}, {}", topology.name, name_of(result.collective),
                                 counted(topology.ranks, "rank"),
                                 counted(static_cast<long long>(topology.links.size()), "link"));
  if (!topology.limits.empty())
    text += ", " + counted(static_cast<long long>(topology.limits.size()), "shared limit");
  const Space& space = result.space;
  if (result.kind == ResultKind::Frontier) text += "; " + chunk_counts(space) + " per block";
  if (result.kind == ResultKind::Frontier && space.max_steps != kAnySteps)
    text += fmt::format("; at most {}", counted(space.max_steps, "step"));
  if (space.extra_rounds != kAnyRounds) text += "; at most steps + " + counted(space.extra_rounds, "round");
  return text + order_in_words(result.collective) +
         fmt::format("\n(a block is {}{}{})", row_of(result.collective.kind).block,
                     call_in_words(topology.call_us), under_abilities(topology));
}

namespace {

// A point that others dominate in steps and rounds is listed where it is the fastest at some size: links
// differ, so rounds of equal number are not of equal time.
ReportTable points_table(const Result& result, const Listed& listed) {
  ReportTable table{.title = heading(result), .kinds = "rrrrllrll"};
  if (result.points.empty()) return table;
  std::vector<int> chosen = listed.points;
  for (const SizeRow& row : listed.timed) chosen.push_back(row.point);
  const std::vector<std::string>& sizes = listed.best.words;
  // The last are folded first where the line is too short.
  table.rows = {{"#", "steps", "rounds", "chunks", "rounds/chunk", "best for messages", "seconds",
                 "construction", "proven by"}};
  const auto is_chosen = [&](int i) { return std::ranges::find(chosen, i) != chosen.end(); };
  bool whole_frontier = true;
  for (int i = 0; i < std::ssize(result.points); ++i)
    whole_frontier = whole_frontier && (is_chosen(i) || !result.points[i].on_frontier);
  for (int i = 0; i < std::ssize(result.points); ++i) {
    if (!is_chosen(i) && (!whole_frontier || sizes[i].empty())) continue;
    const Point& point = result.points[i];
    table.rows.push_back({std::to_string(i), std::to_string(point.cost.steps),
                          std::to_string(point.cost.rounds), std::to_string(point.cost.chunks),
                          fraction(point.cost.rounds, point.cost.chunks),
                          sizes[i].empty() ? "dominated" : sizes[i], fmt::format("{:.2f}", point.seconds),
                          algorithm_of(result.topology, point), proven_by(result, point)});
  }
  return table;
}

// "<=" marks a time that was not compared with all points: the limit came first.
ReportTable sizes_table(const Result& result, const std::vector<SizeRow>& timed) {
  ReportTable table{
      .title = "by message size",
      .rows = {{"message", "time", "GB/s", "busbw", "x lower bound", "#", "steps", "rounds/chunk"}},
      .kinds = "rrrrrrrl"};
  for (const SizeRow& each : timed) {
    const Point& point = result.points[each.point];
    table.rows.push_back({format_bytes(static_cast<double>(each.message_bytes)),
                          (each.at_most ? "<= " : "") + format_us(each.us),
                          fmt::format("{:.4g}", each.algbw_gbs), fmt::format("{:.4g}", each.busbw_gbs),
                          each.least_us > 0 ? fmt::format("{:.3f}", each.us / each.least_us) : "-",
                          std::to_string(each.point), std::to_string(point.cost.steps),
                          fraction(point.cost.rounds, point.cost.chunks)});
  }
  return table;
}

// A table per step, a row per source: what it sends over each of its links, "1: 0-3, 5 +" chunks 0 to 3 and 5
// to rank 1, added to what that has. Large schedules have many rows, so few cells are in each.
void add_schedule(const Topology& topology, const Point& point, int number, Report& report) {
  for (std::size_t s = 0; s < point.schedule.steps.size(); ++s) {
    const Step& step = point.schedule.steps[s];
    std::map<Rank, std::map<std::pair<LinkId, bool>, std::vector<int>>> by_source;
    for (const Send& send : step.sends)
      by_source[topology.links[send.link].src][{send.link, send.reduce}].push_back(send.chunk);
    ReportTable& table = report.tables.emplace_back();
    if (s == 0) table.title = fmt::format("point {}: {}", number, algorithm_of(topology, point));
    table.kinds = "rl";
    table.rows.reserve(by_source.size() + 1);
    table.rows.push_back(
        {fmt::format("step {}", s + 1),
         counted(step.rounds, "round") + ", " + counted(static_cast<long long>(step.sends.size()), "send")});
    for (auto& [source, links] : by_source) {
      std::string to;
      for (auto& [link, chunks] : links) {
        std::ranges::sort(chunks);
        to += fmt::format("{}-> {}: {}{}", to.empty() ? "" : "; ", topology.links[link.first].dst,
                          ranges(chunks), link.second ? " +" : "");
      }
      table.rows.push_back({std::to_string(source), std::move(to)});
    }
  }
}

}  // namespace

const Point* fastest_rate(const Result& result) {
  const auto best = std::ranges::min_element(
      result.points, [](const Point& a, const Point& b) { return compare_rate(a.cost, b.cost) < 0; });
  return best == result.points.end() ? nullptr : &*best;
}

namespace {

// The bound on all schedules, of any steps and chunks, and whether the result reaches it; "" without such a
// claim. Rates are fractions, compared by cross-multiplication: exact in integers, so "no more" and a
// percentage never contradict a proof by rounding.
std::string bound_in_words(const Result& result) {
  const Rate bound = rate_bound(result);
  if (bound.rounds == 0) return "";
  std::string text = fmt::format("no schedule of any chunk count has fewer than {}",
                                 rounds_a_chunk(bound.rounds, bound.chunks));
  const Point* const best = fastest_rate(result);
  if (best == nullptr) return text;
  const long long over = best->cost.rounds * bound.chunks, under = best->cost.chunks * bound.rounds;
  if (over == under) return text + "; the best here has no more";
  return text + fmt::format("; the best here has {:.1f} % more",
                            100.0 * static_cast<double>(over - under) / static_cast<double>(under));
}

}  // namespace

Report report_of(const Result& result, const Listed& listed) {
  Report report{.title = result.topology.name + ", " + name_of(result.collective),
                .tables = {points_table(result, listed)}};
  if (listed.sizes > 0 && !result.points.empty()) report.tables.push_back(sizes_table(result, listed.timed));
  for (const int i : listed.schedules) add_schedule(result.topology, result.points[i], i, report);
  if (const std::string bound = bound_in_words(result); !bound.empty()) report.sentences.push_back(bound);
  std::vector<TimeAndBound> times;
  for (const SizeRow& row : listed.timed) times.push_back({row.us, row.least_us});
  if (const std::string words = complete_in_time(times, TimeModel::Steps); !words.empty())
    report.sentences.push_back(words);
  if (!result.points.empty() && listed.timed.size() < listed.sizes)
    report.sentences.push_back(
        counted(static_cast<long long>(listed.sizes - listed.timed.size()), "more size") + " not timed");
  return report;
}

std::string sizes_json(const Result& result, const std::vector<SizeRow>& timed) {
  return json_file("chorale_sizes", 1, "topology", result.topology.name, "collective",
                   name_of(result.collective), "rows", timed);
}

// "open from 3 steps on: found 7/6 = 1.167, bound 1, gap 16.7 %": with so many steps the fewest rounds per
// chunk that were found, and the fewest that are not excluded. A bound of 0 rounds gives no gap in percent.
std::vector<std::string> openings_in_words(const Result& result) {
  std::vector<std::string> lines;
  for (const Opening& open : result.openings) {
    std::string& text = lines.emplace_back(fmt::format("open from {} on: ", counted(open.steps, "step")));
    if (!open.found) {
      text += "nothing found, at least " + rounds_a_chunk(open.bound.rounds, open.bound.chunks);
      continue;
    }
    const double found = static_cast<double>(open.found->rounds) / static_cast<double>(open.found->chunks);
    const double least = static_cast<double>(open.bound.rounds) / static_cast<double>(open.bound.chunks);
    text += fmt::format("found {}, bound {}", fraction(open.found->rounds, open.found->chunks),
                        fraction(open.bound.rounds, open.bound.chunks));
    if (least > 0) text += fmt::format(", gap {:.1f} %", 100 * (found / least - 1));
  }
  return lines;
}

std::string call_in_words(double call_us) {
  return call_us > 0 ? "; a call costs " + format_us(call_us) : "";
}

}  // namespace chorale
