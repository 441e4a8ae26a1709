// Machines are compared by what no schedule can beat, so that nothing has to be searched: the latency of the
// fewest steps, and the bus bandwidth at a size in which latency vanishes. With message sizes each collective
// is optimized on both as well. Results are compared by the times of their points.
#include "jobs/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "cost/busbw.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json_fields.h"
#include "ir/ranking.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "pages/figures.h"
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
ComparedSide machine_side(const std::string& spec, const Machine& machine, const Levels& levels) {
  const Topology& described = machine.described();
  return {.name = described.name.empty() ? spec : described.name,
          .machine = described.name,
          .ranks = described.ranks,
          .switches = described.switches,
          .links = static_cast<int>(described.links.size()),
          .out_gbs = least_out_gbs(described),
          .levels = levels_in_words(levels)};
}

std::string search_of(const Result& result) {
  switch (completeness(result)) {
    case Completeness::Time:
      return "complete in time by steps";
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
                       .algorithm = algorithm_of(result.topology, result.points[best.point])};
  }
}

}  // namespace

// Bus bandwidth is kHugeBytes by the bound's time for that size, times the factor of nccl-tests. A collective
// in which nothing has to move has neither latency nor bandwidth, and 0 stands for that.
CollectiveLimits limits_on(const Topology& flat, const std::string& name) {
  const Collective collective = chorale::collective(name, flat);
  CollectiveLimits limits{.collective = name_of(collective)};
  StrongestBounds bounds(flat, collective);
  limits.steps = bounds.fewest_steps().steps;
  if (limits.steps == 0) return limits;
  // For any number of chunks: the bound on one chunk is a whole number of rounds, which more chunks may beat.
  const TimeBound least(flat, collective, static_cast<double>(bounds.rate().rounds) / bounds.rate().chunks);
  // Without bytes the call and the alphas of the longest path are left.
  limits.latency_us = least.us(0);
  const MessageShape message = message_shape(collective);
  const auto block = static_cast<double>(block_of_size(message, static_cast<std::int64_t>(kHugeBytes)));
  limits.busbw_gbs = algbw_gbs(kHugeBytes, least.us(block)) * message.bus_factor;
  return limits;
}

// A change of an imported machine (ImportOptions) is only for the side that is a file of another tool, but
// for the rates and the switches that names have, too.
// First the bounds of all collectives, which take moments, then the searches: what is published grows from
// the top.
Comparison compare_machines(const std::string& first, const std::string& second,
                            const CompareQuestion& question) {
  require_rising(question.message_bytes);
  const std::array<std::string, 2> specs = {first, second};
  const std::array<bool, 2> foreign = {is_foreign_file(first), is_foreign_file(second)};
  const auto changes_of = [&](int side) {
    MachineChanges changes = question.changes;
    const ImportOptions& of_both = question.changes.import;
    if (!foreign[side] && foreign[1 - side])
      changes.import = {.line_rates = of_both.line_rates,
                        .forward_only = of_both.forward_only,
                        .in_network = of_both.in_network};
    return changes;
  };
  Comparison comparison;
  std::vector<Machine> machines;
  for (int side = 0; side < 2; ++side) {
    machines.push_back(machine_of(load_topology(specs[side], changes_of(side))));
    comparison.sides[side] =
        machine_side(specs[side], machines[side], load_levels(specs[side], changes_of(side)));
  }
  add_rank_note(comparison);
  const std::vector<std::string>& names =
      question.collectives.empty() ? usual_collectives() : question.collectives;
  const auto stopped = [&] { return question.stop != nullptr && *question.stop; };
  for (const std::string& name : names)
    for (int side = 0; side < 2 && !stopped(); ++side) {
      if (question.doing)
        question.doing(fmt::format("bounds of {} on {}", name, comparison.sides[side].name));
      comparison.sides[side].limits.push_back(limits_on(machines[side], name));
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
      const Collective collective = chorale::collective(name, machines[side]);
      compared.collective = name_of(collective);
      compared.bus_factors[side] = message_shape(collective).bus_factor;
      // Rows of sizes that were not timed are missing, so each finds its place by its size.
      for (const OptimizedRow& row : optimize(machines[side], collective, asked).rows)
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

// A comparison as a report and as JSON. A time or rate of 0 is not known, and is "-" in a table.

template <>
struct Fields<ComparedSize> {
  using C = ComparedSize;
  static std::vector<SideAtSize> sides(const C& size) { return {size.sides.begin(), size.sides.end()}; }
  static double speedup(const C& size) { return size.speedup(); }
  static constexpr std::tuple all = {field<&C::message_bytes>(), Derived<C, sides>{{.name = "sides"}},
                                     Derived<C, speedup>{{.name = "speedup"}}};
};
template <>
struct Fields<ComparedSizes> {
  static constexpr auto all = plain_fields<&ComparedSizes::collective, &ComparedSizes::rows>();
};

namespace {

std::string bytes_in_words(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string times_as_fast(double speedup) {
  return speedup > 0 ? fmt::format("{:.2f}x", speedup) : "-";
}

std::string gbs(double value) {
  return value > 0 ? fmt::format("{:.4g}", value) : "-";
}

// What each side is, a row for each property.
// A row without a value on either side is left out; "-" is for the side that lacks it.
ReportTable sides_table(const Comparison& comparison) {
  const auto& [a, b] = comparison.sides;
  ReportTable table{.title = comparison.of_results ? "Results" : "Machines",
                    .rows = {{"", "A", "B"}, {"name", a.name, b.name}},
                    .kinds = "lrr"};
  const auto add = [&](const std::string& what, const std::string& of_a, const std::string& of_b) {
    if (!of_a.empty() || !of_b.empty())
      table.rows.push_back({what, of_a.empty() ? "-" : of_a, of_b.empty() ? "-" : of_b});
  };
  const auto number = [](int value) { return std::to_string(value); };
  if (comparison.of_results) {
    add("machine", a.machine, b.machine);
    add("collective", a.collective, b.collective);
  }
  add("ranks", number(a.ranks), number(b.ranks));
  add("switches", number(a.switches), number(b.switches));
  add("links", number(a.links), number(b.links));
  add("GB/s out of a rank", gbs(a.out_gbs), gbs(b.out_gbs));
  add("levels", a.levels, b.levels);
  if (!comparison.of_results) return table;
  add("points", number(a.points), number(b.points));
  add("proven", number(a.proven), number(b.proven));
  add("search", a.search, b.search);
  return table;
}

// In narrow columns the sides are A and B, which the first table names.
// B may be shorter than A: a limit of time ends the bounds between the two.
ReportTable limits_table(const Comparison& comparison) {
  const auto& [a, b] = comparison.sides;
  ReportTable table{.title = "Bounds that no schedule can beat",
                    .rows = {{"collective", "latency A", "B", "busbw GB/s A", "B", "B/A"}},
                    .kinds = "lrrrrr"};
  for (std::size_t i = 0; i < a.limits.size(); ++i) {
    const CollectiveLimits& of_a = a.limits[i];
    const CollectiveLimits of_b = i < b.limits.size() ? b.limits[i] : CollectiveLimits();
    table.rows.push_back({of_a.collective, format_us(of_a.latency_us),
                          i < b.limits.size() ? format_us(of_b.latency_us) : "-", gbs(of_a.busbw_gbs),
                          gbs(of_b.busbw_gbs),
                          times_as_fast(of_a.busbw_gbs > 0 ? of_b.busbw_gbs / of_a.busbw_gbs : 0)});
  }
  return table;
}

ReportTable sizes_table(const ComparedSizes& sizes) {
  ReportTable table{.title = sizes.collective + " by message size",
                    .rows = {{"message", "time A", "B", "busbw GB/s A", "B", "of bound A", "B", "speedup"}},
                    .kinds = "rrrrrrrr"};
  const auto time = [](double us) { return us > 0 ? format_us(us) : "-"; };
  const auto share = [](const SideAtSize& side) { return share_of_bound(side.us, side.bound_us); };
  for (const ComparedSize& row : sizes.rows) {
    const auto& [x, y] = row.sides;
    table.rows.push_back({bytes_in_words(row.message_bytes), time(x.us), time(y.us), gbs(x.busbw_gbs),
                          gbs(y.busbw_gbs), share(x), share(y), times_as_fast(row.speedup())});
  }
  return table;
}

// Two curves for each side: the best that was found, and the bound. What is between a curve and its bound is
// open; what is between the bounds is the difference of the machines.
SizeFigure figure_of(const Comparison& comparison, const ComparedSizes& sizes) {
  // Each curve has the factor of its side: the sides may differ in their number of ranks.
  SizeFigure figure{.title = fmt::format("{}: {} and {}", sizes.collective, comparison.sides[0].name,
                                         comparison.sides[1].name),
                    .bus_factor = sizes.bus_factors[0]};
  for (const ComparedSize& row : sizes.rows) figure.message_bytes.push_back(row.message_bytes);
  for (const int side : {0, 1}) {
    SizeCurve found{.kind = side == 0 ? SizeCurve::Kind::Found : SizeCurve::Kind::Second,
                    .name = comparison.sides[side].name,
                    .bus_factor = sizes.bus_factors[side]};
    SizeCurve bound{.kind = side == 0 ? SizeCurve::Kind::Bound : SizeCurve::Kind::SecondBound,
                    .name = "bound of " + comparison.sides[side].name,
                    .bus_factor = sizes.bus_factors[side]};
    for (const ComparedSize& row : sizes.rows) {
      found.us.push_back(row.sides[side].us);
      bound.us.push_back(row.sides[side].bound_us);
    }
    figure.curves.push_back(std::move(found));
    figure.curves.push_back(std::move(bound));
  }
  return figure;
}

// Message sizes of 0 have no place on a logarithmic axis.
bool can_be_drawn(const ComparedSizes& sizes) {
  return !sizes.rows.empty() && sizes.rows.front().message_bytes > 0 &&
         std::ranges::any_of(sizes.rows, [](const ComparedSize& row) { return row.speedup() > 0; });
}

}  // namespace

// The range over all sizes at which both have a time; one number where least and most differ by half a
// percent or less.
std::vector<std::string> conclusions(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const ComparedSizes& sizes : comparison.sizes) {
    std::vector<double> speedups;
    std::vector<std::int64_t> bytes;
    bool proven = true;
    for (const ComparedSize& row : sizes.rows) {
      if (row.speedup() <= 0) continue;
      speedups.push_back(row.speedup());
      bytes.push_back(row.message_bytes);
      proven = proven && std::ranges::all_of(row.sides, [](const SideAtSize& side) {
                 return meets_bound(side.us, side.bound_us);
               });
    }
    if (speedups.empty()) continue;
    const auto [least, most] = std::ranges::minmax(speedups);
    all.push_back(fmt::format(
        "{}: {} is {}{} as fast as {}, from {} to {}{}", sizes.collective, comparison.sides[1].name,
        times_as_fast(least), most > least * 1.005 ? " to " + times_as_fast(most) : "",
        comparison.sides[0].name, bytes_in_words(bytes.front()), bytes_in_words(bytes.back()),
        comparison.of_results || proven ? "" : ", by the schedules found, not all proven"));
  }
  return all;
}

// "limits" is a list for each side, in their order, of a row for each collective.
std::string to_json(const Comparison& comparison) {
  std::vector<std::vector<CollectiveLimits>> limits;
  for (const ComparedSide& side : comparison.sides) limits.push_back(side.limits);
  const std::vector<ComparedSide> sides(comparison.sides.begin(), comparison.sides.end());
  return json_file("chorale_compare", 1, "of", comparison.of_results ? "results" : "machines", "sides", sides,
                   "limits", limits, "sizes", comparison.sizes, "conclusions", conclusions(comparison),
                   "notes", comparison.notes);
}

// Machines have a table of bounds, results have none: their points are timed by size.
Report report_of(const Comparison& comparison) {
  Report report{.title = fmt::format("{} and {}", comparison.sides[0].name, comparison.sides[1].name),
                .sentences = conclusions(comparison),
                .notes = comparison.notes,
                .tables = {sides_table(comparison)}};
  if (!comparison.sides[0].limits.empty()) report.tables.push_back(limits_table(comparison));
  for (const ComparedSizes& sizes : comparison.sizes) {
    report.tables.push_back(sizes_table(sizes));
    if (can_be_drawn(sizes)) report.figures.push_back(size_figure_svg(figure_of(comparison, sizes)));
  }
  return report;
}

}  // namespace chorale
