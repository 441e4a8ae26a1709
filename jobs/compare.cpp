// Machines are compared by what no schedule can beat, so that nothing has to be searched: the latency of the
// fewest steps, and the bus bandwidth at a size in which latency vanishes. With message sizes each collective
// is optimized on both as well. Results are compared by the times of their points.
#include "jobs/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/import.h"
#include "api/inputs.h"
#include "api/report.h"
#include "cost/busbw.h"
#include "cost/completeness.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/ranking.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "pareto/strongest_bounds.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr double kHugeBytes = 1e15;  // a message in which latency is nothing

// Results and machines are both JSON; a result that Chorale writes has its key near the beginning.
bool is_result_text(const std::string& text) {
  return text.substr(0, 200).find("\"chorale_result\"") != std::string::npos;
}

std::string levels_in_words(const Levels& levels) {
  std::vector<std::string> parts;
  if (levels.hierarchy)
    for (const Level& level : levels.hierarchy->levels)
      parts.push_back(fmt::format("{} {}", level.fan_out, level.name));
  return joined(parts, " x ");
}

// The slowest rank's. Limits over links out of one rank hold, one for each link: the narrowest first. A limit
// that ranks share is not of one rank alone, and is left out.
double least_out_gbs(const Topology& described) {
  const auto gbs_of = [&](LinkId l, int bandwidth) {
    return bandwidth * 1e-3 / described.links[l].beta_us_per_byte;
  };
  std::vector<double> gbs(described.ranks, 0);
  std::vector<bool> counted(described.links.size(), false);
  std::vector<const SharedLimit*> limits;
  for (const SharedLimit& limit : described.limits) limits.push_back(&limit);
  std::ranges::stable_sort(limits, {}, [](const SharedLimit* limit) { return limit->bandwidth; });
  for (const SharedLimit* limit : limits) {
    const Node src = limit->links.empty() ? described.ranks : described.links[limit->links.front()].src;
    const bool usable = src < described.ranks && std::ranges::all_of(limit->links, [&](LinkId l) {
                          return described.links[l].src == src && !counted[l];
                        });
    if (!usable) continue;
    double links = 0;
    for (const LinkId l : limit->links) {
      links += gbs_of(l, described.links[l].bandwidth);
      counted[l] = true;
    }
    gbs[src] += std::min(links, gbs_of(limit->links.front(), limit->bandwidth));
  }
  for (LinkId l = 0; l < std::ssize(described.links); ++l)
    if (const Link& link = described.links[l]; link.src < described.ranks && !counted[l])
      gbs[link.src] += gbs_of(l, link.bandwidth);
  return gbs.empty() ? 0 : *std::ranges::min_element(gbs);
}

// Bus bandwidth is kHugeBytes by the bound's time for that size, times the factor of nccl-tests. A collective
// in which nothing has to move has neither latency nor bandwidth, and 0 stands for that.
CollectiveLimits limits_on(const Topology& flat, const std::string& name) {
  const Collective collective = communication(name, flat);
  CollectiveLimits limits{.collective = name_of(collective)};
  StrongestBounds bounds(flat, collective);
  limits.steps = bounds.fewest_steps().steps;
  if (limits.steps == 0) return limits;
  // For any number of chunks: the bound on one chunk is a whole number of rounds, which more chunks may beat.
  const TimeBound least(flat, collective, static_cast<double>(bounds.rate().rounds) / bounds.rate().chunks);
  // Without bytes only the alphas of the longest path are left.
  limits.latency_us = least.us(0);
  const MessageShape message = message_shape(collective);
  const auto block = static_cast<double>(block_of_size(message, static_cast<std::int64_t>(kHugeBytes)));
  limits.busbw_gbs = algbw_gbs(kHugeBytes, least.us(block)) * message.bus_factor;
  return limits;
}

SideAtSize side_of(const OptimizedRow& row) {
  return {.us = row.us, .busbw_gbs = row.busbw_gbs, .bound_us = row.bound_us, .algorithm = row.algorithm};
}

void add_rank_note(Comparison& comparison) {
  const auto& [a, b] = comparison.sides;
  if (a.ranks != b.ranks)
    comparison.notes.push_back(fmt::format("{} has {}, {} has {}: messages are of the same size on both",
                                           a.name, counted(a.ranks, "rank"), b.name,
                                           counted(b.ranks, "rank")));
}

// Links are counted as described: flattening makes one of each path through switches.
ComparedSide machine_side(const std::string& spec, const Topology& described, const Topology& flat,
                          const Levels& levels) {
  return {.name = described.name.empty() ? spec : described.name,
          .machine = described.name,
          .ranks = described.ranks,
          .switches = described.switches,
          .links = static_cast<int>(described.links.size()),
          .out_gbs = least_out_gbs(described.switches > 0 ? described : flat),
          .levels = levels_in_words(levels)};
}

std::string search_of(const Result& result) {
  switch (completeness(result)) {
    case Completeness::Time:
      return "complete";
    case Completeness::StepsAndRounds:
      return "complete in steps and rounds";
    case Completeness::Open:
      break;
  }
  return result.stopped == Stopped::No ? "not complete" : name_of(result.stopped);
}

ComparedSide result_side(const Result& result, const std::string& name) {
  // A result has direct links; the machine below them is the one that was named.
  const Topology whole = with_switches(result.topology);
  ComparedSide side{.name = name,
                    .machine = result.topology.name,
                    .collective = name_of(result.collective),
                    .ranks = whole.ranks,
                    .switches = whole.switches,
                    .links = static_cast<int>(whole.links.size()),
                    .out_gbs = least_out_gbs(whole),
                    .search = search_of(result)};
  for (const Point& point : result.points) {
    side.points += point.on_frontier ? 1 : 0;
    side.proven += point.on_frontier && point.proven ? 1 : 0;
  }
  return side;
}

// The fastest point of a result at each size; sizes at which none was timed in time keep 0.
// Rows of best_by_size() lack the sizes that were not timed, and are in the order of the sizes.
void time_points(const Result& result, int side, const std::atomic<bool>* stop, ComparedSizes& compared) {
  compared.bus_factors[side] = message_shape(result.collective).bus_factor;
  std::vector<std::int64_t> sizes;
  for (const ComparedSize& row : compared.rows) sizes.push_back(row.message_bytes);
  std::size_t size = 0;
  for (const SizeRow& best : best_by_size(result, sizes, {}, stop)) {
    while (sizes[size] != best.message_bytes) ++size;
    ComparedSize& row = compared.rows[size++];
    row.sides[side] = {.us = best.us,
                       .busbw_gbs = best.busbw_gbs,
                       .bound_us = best.least_us,
                       .algorithm = origin(result.points[best.point])};
  }
}

}  // namespace

// A change of an imported machine (ImportOptions) is only for the side that is a file of another tool.
// First the bounds of all collectives, which take moments, then the searches: what is published grows from
// the top.
Comparison compare_machines(const std::string& first, const std::string& second,
                            const CompareQuestion& question) {
  require_rising(question.message_bytes);
  const std::array<std::string, 2> specs = {first, second};
  const std::array<bool, 2> foreign = {is_foreign_file(first), is_foreign_file(second)};
  const auto changes_of = [&](int side) {
    MachineChanges changes = question.changes;
    if (!foreign[side] && foreign[1 - side]) changes.import = {};
    return changes;
  };
  Comparison comparison;
  std::array<Topology, 2> flat;
  for (int side = 0; side < 2; ++side) {
    const Topology described = load_topology(specs[side], changes_of(side));
    flat[side] = flatten(described);
    comparison.sides[side] =
        machine_side(specs[side], described, flat[side], load_levels(specs[side], changes_of(side)));
  }
  add_rank_note(comparison);
  const std::vector<std::string>& names =
      question.collectives.empty() ? usual_collectives() : question.collectives;
  const auto stopped = [&] { return question.stop != nullptr && *question.stop; };
  for (const std::string& name : names)
    for (int side = 0; side < 2 && !stopped(); ++side) {
      if (question.doing)
        question.doing(fmt::format("bounds of {} on {}", name, comparison.sides[side].name));
      comparison.sides[side].limits.push_back(limits_on(flat[side], name));
      if (question.publish) question.publish(comparison);
    }
  if (question.message_bytes.empty()) return comparison;
  for (const std::string& name : names) {
    ComparedSizes compared{.collective = name};
    for (const std::int64_t bytes : question.message_bytes) compared.rows.push_back({.message_bytes = bytes});
    for (int side = 0; side < 2 && !stopped(); ++side) {
      if (question.doing) question.doing(fmt::format("{} on {}", name, comparison.sides[side].name));
      OptimizeQuestion asked{.message_bytes = question.message_bytes};
      asked.search.time_limit = question.search_time;
      asked.search.synthesis.limits.stop = question.stop;
      const Collective collective = communication(name, flat[side]);
      compared.collective = name_of(collective);
      compared.bus_factors[side] = message_shape(collective).bus_factor;
      // Rows of sizes that were not timed are missing, so each finds its place by its size.
      for (const OptimizedRow& row : optimize(flat[side], collective, asked).rows)
        std::ranges::find(compared.rows, row.message_bytes, &ComparedSize::message_bytes)->sides[side] =
            side_of(row);
    }
    comparison.sizes.push_back(std::move(compared));
    if (question.publish) question.publish(comparison);
  }
  return comparison;
}

Comparison compare_results(const Result& first, const Result& second, const std::array<std::string, 2>& names,
                           const std::vector<std::int64_t>& message_bytes, const std::atomic<bool>* stop) {
  require_rising(message_bytes);
  if (first.collective.kind != second.collective.kind)
    throw InputError("compare",
                     fmt::format("{} is of {}, {} of {}", names[0], name_of(first.collective), names[1],
                                 name_of(second.collective)),
                     "compare results of one collective");
  Comparison comparison{.of_results = true,
                        .sides = {result_side(first, names[0]), result_side(second, names[1])}};
  add_rank_note(comparison);
  ComparedSizes compared{.collective = name_of(first.collective)};
  for (const std::int64_t bytes : message_bytes) compared.rows.push_back({.message_bytes = bytes});
  time_points(first, 0, stop, compared);
  time_points(second, 1, stop, compared);
  comparison.sizes.push_back(std::move(compared));
  return comparison;
}

// Both arguments are read to see what they are; a ranking has a remedy of its own.
Comparison compare(const std::string& first, const std::string& second, const CompareQuestion& question) {
  const auto is_result = [](const std::string& spec) {
    if (!names_a_file(spec)) return false;
    const std::string text = read_file(spec);
    if (is_ranking(text))
      throw InputError(spec, "is a ranking of placements", "compare machines, or results of a search");
    return is_result_text(text);
  };
  const bool a = is_result(first), b = is_result(second);
  if (a != b)
    throw InputError(a ? second : first, "is a machine, and the other is a result",
                     "compare two machines, or two results");
  if (!a) return compare_machines(first, second, question);
  if (!question.collectives.empty())
    throw InputError("--collectives", "is for machines", "results have a collective");
  if (question.changes.any() || question.changes.import != ImportOptions())
    throw InputError("compare", "changes are for machines", "results have a machine");
  // Timing needs no search, so results are compared at some sizes in any case.
  return compare_results(read_sound_result(first), read_sound_result(second), {first, second},
                         question.message_bytes.empty() ? usual_sizes() : question.message_bytes,
                         question.stop);
}

}  // namespace chorale
