// A comparison as tables, sentences, JSON, a page and a figure. Text, page and Python show the same tables,
// so a cell is a string here. A time or rate of 0 is not known, and is "-" in a table.
#include <fmt/format.h>

#include <algorithm>

#include "cost/completeness.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "jobs/compare.h"
#include "pages/page.h"
#include "pages/size_figure.h"

namespace chorale {

template <>
struct Fields<ReportTable> {
  using C = ReportTable;
  static constexpr auto all = plain_fields<&C::title, &C::rows, &C::kinds>();
};
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

using Cells = std::vector<std::string>;

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

// Machines have a table of bounds, results have none: their points are timed by size.
std::vector<ReportTable> tables(const Comparison& comparison) {
  std::vector<ReportTable> all = {sides_table(comparison)};
  if (!comparison.sides[0].limits.empty()) all.push_back(limits_table(comparison));
  for (const ComparedSizes& sizes : comparison.sizes) all.push_back(sizes_table(sizes));
  return all;
}

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

// Figures of all collectives that can be drawn, then all tables; the conclusions are the sentences at the
// top.
std::string to_page(const Comparison& comparison) {
  const std::string title = fmt::format("{} and {}", comparison.sides[0].name, comparison.sides[1].name);
  std::vector<std::string> sentences = conclusions(comparison), figures;
  sentences.insert(sentences.end(), comparison.notes.begin(), comparison.notes.end());
  for (const ComparedSizes& sizes : comparison.sizes)
    if (can_be_drawn(sizes)) figures.push_back(size_figure_svg(figure_of(comparison, sizes)));
  return filled_page(
      Page::Compare, title + " - Chorale",
      json_object("title", title, "sentences", sentences, "figures", figures, "tables", tables(comparison))
          .text);
}

// A file has one figure: that of the first collective that can be drawn.
std::string to_svg(const Comparison& comparison) {
  for (const ComparedSizes& sizes : comparison.sizes)
    if (can_be_drawn(sizes)) return size_figure_svg(figure_of(comparison, sizes));
  return "";
}

}  // namespace chorale
