// The answer for readers: JSON, the page and its figure, and sentences.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/report.h"
#include "cost/completeness.h"
#include "cost/cost.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "pages/html.h"
#include "pages/size_figure.h"

namespace chorale {

template <>
struct Fields<Baseline> {
  static constexpr auto all = plain_fields<&Baseline::name, &Baseline::us>();
};
template <>
struct Fields<MachinePart> {
  using P = MachinePart;
  static constexpr auto all = plain_fields<&P::what, &P::count, &P::gbs, &P::share>();
};
template <>
struct Fields<Binding> {
  using B = Binding;
  static constexpr auto all =
      plain_fields<&B::parts, &B::groups, &B::steps, &B::latency_us, &B::from_bytes, &B::as_fastest>();
};

namespace {

// The row whose time is the farthest from its bound.
const OptimizedRow& worst_row(const Optimized& answer) {
  return *std::ranges::min_element(
      answer.rows, {}, [](const OptimizedRow& row) { return row.us > 0 ? row.bound_us / row.us : 1; });
}

SizeFigure figure_of(const Optimized& answer) {
  SizeFigure figure{.title = name_of(answer.result.collective) + " on " + answer.result.topology.name,
                    .bus_factor = answer.shape.bus_factor};
  SizeCurve found{.name = "Chorale"}, bound{.kind = SizeCurve::Kind::Bound, .name = "bound"};
  for (const OptimizedRow& row : answer.rows) {
    figure.message_bytes.push_back(row.message_bytes);
    found.us.push_back(row.us);
    bound.us.push_back(row.bound_us);
  }
  figure.curves = {found};
  // Baselines have a time at every size, rows only where something was timed: with one missing, curves would
  // be shifted against each other.
  if (answer.rows.size() == answer.sizes.size())
    for (const Baseline& baseline : answer.baselines)
      figure.curves.push_back(
          {.kind = SizeCurve::Kind::Baseline, .name = baseline.name + " (baseline)", .us = baseline.us});
  SizeCurve measured{.kind = SizeCurve::Kind::Measured, .name = "measured"};
  for (const OptimizedRow& row : answer.rows) measured.us.push_back(row.measured_us);
  if (std::ranges::any_of(measured.us, [](double us) { return us > 0; })) figure.curves.push_back(measured);
  if (std::ranges::any_of(bound.us, [](double us) { return us > 0; })) figure.curves.push_back(bound);
  return figure;
}

}  // namespace

bool nothing_moves(const Optimized& answer) {
  return std::ranges::all_of(answer.rows, [](const OptimizedRow& row) { return row.steps == 0; });
}

std::string share_of_bound(const OptimizedRow& row) {
  return share_of_bound(row.us, row.bound_us);
}

bool is_proven(const Optimized& answer) {
  return !answer.rows.empty() && answer.rows.size() == answer.sizes.size() &&
         std::ranges::all_of(answer.rows,
                             [](const OptimizedRow& row) { return meets_bound(row.us, row.bound_us); });
}

// What is proven comes first, whatever ended the search; then what the search leaves open.
std::string search_in_words(const Optimized& answer) {
  const Result& result = answer.result;
  if (is_proven(answer) && completeness(result) != Completeness::Time)
    return "each time meets its bound, no schedule is faster at these sizes";
  if (const std::string complete = completeness_in_words(result); !complete.empty()) {
    if (is_proven(answer) || answer.rows.empty()) return complete;
    const OptimizedRow& worst = worst_row(answer);
    return fmt::format("{}: at {} {} of the bound", complete,
                       format_bytes(static_cast<double>(worst.message_bytes)), share_of_bound(worst));
  }
  if (result.stopped == Stopped::ChunkCounts)
    return "ended, and not all rows are proven; --search-time tries more chunk counts";
  return fmt::format("{}; more time may find better",
                     result.stopped == Stopped::No ? "ended" : name_of(result.stopped));
}

std::string to_json(const Optimized& answer) {
  return json_file("chorale_optimize", 1, "topology", answer.result.topology.name, "collective",
                   name_of(answer.result.collective), "blocks_per_message", answer.shape.blocks, "bus_factor",
                   answer.shape.bus_factor, "complete", is_proven(answer), "complete_in_rounds",
                   answer.result.complete, "stopped", name_of(answer.result.stopped), "search",
                   search_in_words(answer), "conclusion", conclusion(answer), "binding", answer.binding,
                   "rows", answer.rows, "baselines", answer.baselines);
}

namespace {

// "multi_ring_allreduce" without the name of the collective, which is in the heading.
std::string short_name(const std::string& baseline, const Collective& collective) {
  const std::string ending = "_" + name_of(collective);
  return baseline.ends_with(ending) ? baseline.substr(0, baseline.size() - ending.size()) : baseline;
}

// A row per size. "of bound" is the bound over the time: 100 % is proven to be the fastest. "<=": not all
// points were timed, so one of them may be faster.
ReportTable by_size(const Optimized& answer) {
  // Where something was measured it is what counts, and the name of the baseline makes room for it.
  const bool measured =
      std::ranges::any_of(answer.rows, [](const OptimizedRow& row) { return row.measured_us > 0; });
  std::vector<std::vector<std::string>> rows = {
      {"message", "time", "GB/s", "busbw", "of bound", "baseline", "its time", "speedup", "#"}};
  if (measured)
    rows = {{"message", "time", "GB/s", "busbw", "of bound", "baseline", "measured", "its speedup", "#"}};
  for (const OptimizedRow& row : answer.rows) {
    const auto speedup = [&](double us) { return us > 0 ? fmt::format("{:.2f}x", us / row.us) : "-"; };
    const auto time = [](double us) { return us > 0 ? format_us(us) : "-"; };
    rows.push_back({format_bytes(static_cast<double>(row.message_bytes)),
                    (row.at_most ? "<= " : "") + format_us(row.us), fmt::format("{:.4g}", row.algbw_gbs),
                    fmt::format("{:.4g}", row.busbw_gbs), share_of_bound(row)});
    std::vector<std::string>& cells = rows.back();
    if (measured)
      cells.insert(cells.end(), {time(row.baseline_us), time(row.measured_us), speedup(row.measured_us)});
    else
      cells.insert(cells.end(),
                   {row.baseline.empty() ? "-" : short_name(row.baseline, answer.result.collective),
                    time(row.baseline_us), speedup(row.baseline_us)});
    cells.push_back(std::to_string(row.point));
  }
  return {.rows = std::move(rows), .kinds = measured ? "rrrrrrrrr" : "rrrrrlrrr"};
}

// The algorithms of that table.
ReportTable algorithms(const Optimized& answer) {
  std::set<int> points;
  for (const OptimizedRow& row : answer.rows) points.insert(row.point);
  std::vector<std::vector<std::string>> rows = {{"#", "steps", "rounds/chunk", "chunks", "construction"}};
  for (const int i : points) {
    const Point& point = answer.result.points[i];
    rows.push_back({std::to_string(i), std::to_string(point.cost.steps),
                    fraction(point.cost.rounds, point.cost.chunks), std::to_string(point.cost.chunks),
                    origin(point)});
  }
  return {.rows = std::move(rows), .kinds = "rrlrl"};
}

}  // namespace

std::vector<ReportTable> tables(const Optimized& answer) {
  return {by_size(answer), algorithms(answer)};
}

std::vector<std::string> sentences(const Optimized& answer) {
  std::vector<std::string> all = {conclusion(answer)};
  if (answer.binding) all.push_back(in_words(*answer.binding));
  if (std::string measured = measured_in_words(answer); !measured.empty()) all.push_back(std::move(measured));
  return all;
}

// The figure has the times of the table, not those of a second simulation.
std::string to_page(const Optimized& answer, const std::atomic<bool>* stop) {
  PageNotes notes{.figure = size_figure_svg(figure_of(answer))};
  if (!answer.rows.empty() && !nothing_moves(answer)) {
    notes.tables = to_json(tables(answer));
    notes.sentences = sentences(answer);
    notes.sentences.push_back("Search: " + search_in_words(answer) + ".");
  }
  return to_page(answer.result, best_sizes(answer.result, {}, stop), std::move(notes), stop);
}

std::string to_svg(const Optimized& answer) {
  return size_figure_svg(figure_of(answer));
}

// Where links differ a ring or a tree over the fast ones alone may be faster than the baseline.
constexpr std::string_view kOverAllLinks = ", as this model builds it over all links, slow ones too";

// Speedups are a range over all sizes. The distance from the bound is that at the largest size, where
// bandwidth decides, and also the worst one, unless that is at the largest size or less than 0.05 %.
std::string conclusion(const Optimized& answer) {
  if (answer.rows.empty()) return "no schedule was found";
  if (nothing_moves(answer)) return "nothing moves";
  const auto gain = [](const OptimizedRow& row) { return row.us > 0 ? row.baseline_us / row.us : 1; };
  std::string text;
  if (!answer.rows.front().baseline.empty()) {
    const auto [least, most] = std::ranges::minmax(answer.rows, {}, gain);
    std::vector<std::string> names;
    for (const Baseline& baseline : answer.baselines) names.push_back(baseline.name);
    text = fmt::format("{:.2f}x to {:.2f}x as fast as {}{}{}; ", gain(least), gain(most),
                       names.size() > 1 ? "the fastest of " : "", joined(names),
                       links_alike(answer.result.topology) ? "" : kOverAllLinks);
  }
  const OptimizedRow& largest = answer.rows.back();
  const OptimizedRow& worst = worst_row(answer);
  text += fmt::format("{:.4g} GB/s of bus bandwidth at {}", largest.busbw_gbs,
                      format_bytes(static_cast<double>(largest.message_bytes)));
  if (largest.bound_us == 0) return text + "; the bound is not known";
  text += fmt::format(", {} of the bound", share_of_bound(largest));
  if (worst.bound_us < 0.9995 * worst.us && &worst != &largest)
    text += fmt::format("; farthest from it at {}: {}",
                        format_bytes(static_cast<double>(worst.message_bytes)), share_of_bound(worst));
  return text;
}

namespace {

constexpr double kAsExpected = 0.9;  // of the baseline: what is measured beyond that is as it should be

// The measured row with the most bandwidth, of equal ones the largest: a log's plateau.
const OptimizedRow* plateau_of(const Optimized& answer) {
  const OptimizedRow* best = nullptr;
  const auto rate = [](const OptimizedRow& row) {
    return algbw_gbs(static_cast<double>(row.message_bytes), row.measured_us);
  };
  for (const OptimizedRow& row : answer.rows)
    if (row.measured_us > 0 && (best == nullptr || rate(row) >= rate(*best))) best = &row;
  return best;
}

// The first size from which on all that were measured take longer than the answer.
const OptimizedRow* first_gain(const Optimized& answer) {
  const OptimizedRow* first = nullptr;
  for (const OptimizedRow& row : answer.rows) {
    if (row.measured_us == 0) continue;
    if (row.us >= row.measured_us)
      first = nullptr;
    else if (first == nullptr)
      first = &row;
  }
  return first;
}

// What runs today is the baseline if it reaches kAsExpected of the baseline's predicted speed; the part that
// the baseline keeps busiest is then what binds it. Slower than that, the algorithm alone does not explain
// it.
std::string diagnosis(const OptimizedRow& row) {
  if (row.baseline.empty()) return "";
  const std::string part = row.baseline_part.empty()
                               ? ""
                               : fmt::format("its busiest part, {}, is in use for {:.0f} % of the time",
                                             row.baseline_part, 100 * row.baseline_busy);
  if (row.baseline_us >= kAsExpected * row.measured_us)
    return "; that is what this algorithm gives here" + (part.empty() ? "" : ": " + part);
  return "; that is less than this algorithm gives here" + (part.empty() ? "" : " (" + part + ")") +
         ": a part is slower than described, or fewer channels, another algorithm or protocol were taken";
}

}  // namespace

std::string measured_in_words(const Optimized& answer) {
  const OptimizedRow* const plateau = plateau_of(answer);
  if (plateau == nullptr) return "";
  const auto busbw = [&](double us) {
    return algbw_gbs(static_cast<double>(plateau->message_bytes), us) * answer.shape.bus_factor;
  };
  // A time below the measured one is a rate above it: the measured bandwidth in per cent of that rate.
  const auto percent = [&](double us) { return fmt::format("{:.1f} %", 100 * us / plateau->measured_us); };
  std::string text =
      fmt::format("measured: a plateau of {:.4g} GB/s of bus bandwidth, at {}", busbw(plateau->measured_us),
                  format_bytes(static_cast<double>(plateau->message_bytes)));
  if (!plateau->baseline.empty())
    text += fmt::format("; {} of {}, {:.4g} GB/s", percent(plateau->baseline_us), plateau->baseline,
                        busbw(plateau->baseline_us));
  if (plateau->bound_us > 0)
    text +=
        fmt::format("; {} of the bound, {:.4g} GB/s", percent(plateau->bound_us), busbw(plateau->bound_us));
  text += diagnosis(*plateau);
  const OptimizedRow* const faster = first_gain(answer);
  return text + (faster == nullptr ? "; at the largest size nothing is gained"
                                   : fmt::format("; Chorale's is faster from {} on",
                                                 format_bytes(static_cast<double>(faster->message_bytes))));
}

}  // namespace chorale
