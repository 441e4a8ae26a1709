// The answer for readers: JSON, the page and its figure, and sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "api/report.h"
#include "cost/cost.h"
#include "ir/agreement.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/links_alone.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "pages/figures.h"

namespace chorale {

template <>
struct Fields<Baseline> {
  static constexpr auto all = plain_fields<&Baseline::name, &Baseline::us>();
};
template <>
struct Fields<MachinePart> {
  using P = MachinePart;
  static constexpr auto all = plain_fields<&P::what, &P::count, &P::gbs, &P::share, &P::names>();
};
template <>
struct Fields<Binding> {
  using B = Binding;
  static constexpr auto all = plain_fields<&B::parts, &B::groups, &B::steps, &B::call_us, &B::latency_us,
                                           &B::from_bytes, &B::as_fastest>();
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
  const bool by_events = answer.time == TimeModel::Events;
  if (is_proven(answer) && (by_events || completeness(result) != Completeness::Time))
    return fmt::format("each time{} meets its bound, no schedule is faster at these sizes",
                       by_events ? "" : " by steps");
  std::string complete = completeness_in_words(result);
  if (by_events && completeness(result) == Completeness::Time)
    complete = "complete in steps and rounds per chunk; in time not, since steps are not waited for";
  if (!complete.empty()) {
    if (is_proven(answer) || answer.rows.empty()) return complete;
    const OptimizedRow& worst = worst_row(answer);
    return fmt::format("{}: at {} {} of the bound", complete,
                       format_bytes(static_cast<double>(worst.message_bytes)), share_of_bound(worst));
  }
  const std::string ended = result.stopped == Stopped::No ? "ended" : name_of(result.stopped);
  if (result.stopped == Stopped::ChunkCounts)
    return "ended, and not all rows are proven; --search-time tries more chunk counts";
  if (result.stopped == Stopped::Effort)
    return "its effort is spent, and not all rows are proven; a larger --effort tries more";
  return ended + "; more time may find better";
}

std::string to_json(const Optimized& answer) {
  return json_file("chorale_optimize", 1, "topology", answer.result.topology.name, "collective",
                   name_of(answer.result.collective), "blocks_per_message", answer.shape.blocks, "bus_factor",
                   answer.shape.bus_factor, "complete", is_proven(answer), "complete_in_rounds",
                   answer.result.complete, "stopped", name_of(answer.result.stopped), "search",
                   search_in_words(answer), "conclusion", conclusion(answer), "binding", answer.binding,
                   "rows", answer.rows, "library", answer.library, "baselines", answer.baselines, "time",
                   name_in<TimeModel>(kTimeModels, answer.time));
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

// The model is within some 10 % at half of the sizes that were measured: one digit after the point, and from
// 2x on none.
std::string rounded_speedup(double speedup) {
  return speedup >= 1.95 ? fmt::format("{:.0f}x", speedup) : fmt::format("{:.1f}x", speedup);
}

// What the library that people run takes, with all that it costs: launches, protocols, pipelines that fill.
// The speedup is over that of a program that has such costs, too.
ReportTable by_library(const Optimized& answer) {
  std::vector<std::vector<std::string>> rows = {
      {"message", answer.library + " takes (model)", "its time", "a program's", "speedup, about"}};
  for (const OptimizedRow& row : answer.rows)
    rows.push_back({format_bytes(static_cast<double>(row.message_bytes)), row.library,
                    format_us(row.library_us), row.us > 0 ? format_us(row.emitted_us) : "-",
                    row.us > 0 ? rounded_speedup(row.library_us / row.emitted_us) : "-"});
  return {.rows = std::move(rows), .kinds = "rlrrr"};
}

// Does the library add in switches that only forward in this answer? Its time may then be below the bound.
bool library_adds_in_switches(const Optimized& answer) {
  const auto adds = [](const OptimizedRow& row) { return row.library.starts_with("NVLS"); };
  return !abilities_of(answer.result.topology).any() && std::ranges::any_of(answer.rows, adds);
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
                    algorithm_of(answer.result.topology, point)});
  }
  return {.rows = std::move(rows), .kinds = "rrlrl"};
}

}  // namespace

// The figure has the times of the table, not those of a second simulation.
Report report_of(const Optimized& answer) {
  Report report{.title = name_of(answer.result.collective) + " on " + answer.result.topology.name};
  if (answer.rows.empty()) {
    report.sentences = {answer.result.complete ? "no schedule exists" : "no schedule was found"};
    return report;
  }
  report.sentences = {conclusion(answer)};
  report.figures = {size_figure_svg(figure_of(answer))};
  if (nothing_moves(answer)) return report;
  if (answer.time == TimeModel::Events)
    report.sentences.push_back(
        "times are by events: a message waits for its data and its links, and not for a step");
  report.tables = {by_size(answer), algorithms(answer)};
  if (!answer.library.empty()) report.tables.push_back(by_library(answer));
  if (answer.binding) report.sentences.push_back(in_words(*answer.binding));
  if (!answer.library.empty())
    report.sentences.push_back(fmt::format(
        "what {} takes, its time, and that of an emitted program with flags and pipelines are a "
        "model's (docs/believable.md); --log has measured ones{}",
        answer.library, adds_once(answer.result.collective) ? ". It rounds at each addition" : ""));
  if (library_adds_in_switches(answer))
    report.sentences.push_back(
        "NVLS copies and adds in the switches; these schedules and bounds are of switches that only forward");
  if (const std::string measured = measured_in_words(answer); !measured.empty())
    report.sentences.push_back(measured);
  std::vector<TimeAndBound> times;
  for (const OptimizedRow& row : answer.rows) times.push_back({row.us, row.bound_us});
  if (const std::string words = complete_in_time(times, answer.time); !words.empty())
    report.sentences.push_back(words);
  report.sentences.push_back(
      fmt::format("search: {}; {:.1f} s", search_in_words(answer), answer.result.seconds));
  return report;
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
    text =
        fmt::format("{:.2f}x to {:.2f}x as fast as {}{}{}{}; ", gain(least), gain(most),
                    names.size() > 1 ? "the fastest of " : "", joined(names),
                    have_equal_rates(answer.result.topology) ? "" : kOverAllLinks,
                    adds_once(answer.result.collective) ? names.size() > 1 ? ", which round at each addition"
                                                                           : ", which rounds at each addition"
                                                        : "");
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

double measured_rate(const OptimizedRow& row) {
  return algbw_gbs(static_cast<double>(row.message_bytes), row.measured_us);
}

// The measured row with the most bandwidth, of equal ones the largest.
const OptimizedRow* peak_of(const Optimized& answer) {
  const OptimizedRow* best = nullptr;
  for (const OptimizedRow& row : answer.rows)
    if (row.measured_us > 0 && (best == nullptr || measured_rate(row) >= measured_rate(*best))) best = &row;
  return best;
}

// A log's bandwidth has a plateau where a size beside its best one comes near to it.
bool is_plateau(const Optimized& answer, const OptimizedRow& peak) {
  constexpr double kNear = 0.95;
  return std::ranges::any_of(answer.rows, [&](const OptimizedRow& row) {
    return &row != &peak && row.measured_us > 0 && measured_rate(row) >= kNear * measured_rate(peak);
  });
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

// What was measured faster than any schedule is on the machine as described, beyond what printing rounds, by
// the most; null: nothing.
const OptimizedRow* most_above_bound(const Optimized& answer) {
  constexpr double kAbove = 1.01;
  const OptimizedRow* most = nullptr;
  const auto excess = [](const OptimizedRow& row) { return row.bound_us / row.measured_us; };
  for (const OptimizedRow& row : answer.rows)
    if (row.measured_us > 0 && excess(row) > std::max(kAbove, most == nullptr ? 0 : excess(*most)))
      most = &row;
  return most;
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
  const OptimizedRow* const plateau = peak_of(answer);
  if (plateau == nullptr) return "";
  const auto busbw = [&](double us) {
    return algbw_gbs(static_cast<double>(plateau->message_bytes), us) * answer.shape.bus_factor;
  };
  // A time below the measured one is a rate above it: the measured bandwidth in per cent of that rate.
  const auto percent = [&](double us) { return fmt::format("{:.1f} %", 100 * us / plateau->measured_us); };
  std::string text =
      fmt::format("measured: {} {:.4g} GB/s of bus bandwidth, at {}",
                  is_plateau(answer, *plateau) ? "a plateau of" : "a peak of", busbw(plateau->measured_us),
                  format_bytes(static_cast<double>(plateau->message_bytes)));
  if (plateau->message_bytes == answer.rows.back().message_bytes && !is_plateau(answer, *plateau))
    text += ", the largest size, where it may still rise";
  if (const OptimizedRow* const above = most_above_bound(answer); above != nullptr)
    return text +
           fmt::format(
               "; {} at {} is less than the bound, {}: the log is of another machine, its links are faster "
               "than described, or its switches add (--switches-in-network)",
               format_us(above->measured_us), format_bytes(static_cast<double>(above->message_bytes)),
               format_us(above->bound_us));
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

// The directory of an answer: the result, the table, the page, programs, and how to build and run them.

namespace {

// Rows with one point, one after the other.
struct SizeRun {
  int point = 0;
  std::int64_t from = 0;  // bytes of messages
  std::int64_t to = 0;    // to this, not included; 0: however large
};

// The first run begins at 0 bytes and the last has no end: a table for sizes between becomes a rule for all.
template <typename Row>
std::vector<SizeRun> runs_of(const std::vector<Row>& rows) {
  std::vector<SizeRun> runs;
  for (const Row& row : rows) {
    if (!runs.empty() && runs.back().point == row.point) continue;
    if (!runs.empty()) runs.back().to = row.message_bytes;
    runs.push_back({.point = row.point, .from = runs.empty() ? 0 : row.message_bytes});
  }
  return runs;
}

// What programs for a target perform, and which of it by size.
struct Performed {
  Result result = {};
  std::vector<SizeRun> runs = {};
  std::string note = {};  // what is lost, where they cannot ask the switches
};

// Where the rows count on switches that the target's programs cannot ask, the fastest are chosen again: by
// links alone, or of what the programs do ask for.
Performed performed_by(Target target, const Optimized& answer, const std::atomic<bool>* stop) {
  const std::vector<int> points = performed_points(answer.result, target);
  const auto performs = [&](const OptimizedRow& row) {
    return std::ranges::find(points, row.point) != points.end();
  };
  if (std::ranges::all_of(answer.rows, performs))
    return {.result = answer.result, .runs = runs_of(answer.rows)};
  Result asked = answer.result;
  asked.points.clear();
  bool asks = false;
  for (const int i : points) {
    asked.points.push_back(answer.result.points[i]);
    asks = asks || uses_abilities(asked.topology, asked.points.back().schedule);
  }
  Performed made{.result = asks ? std::move(asked) : by_links_alone(answer.result)};
  PointTimes times(made.result.topology, answer.time);
  std::vector<SizeRow> rows = rows_by_size(made.result, answer.sizes, {}, stop, &times);
  std::erase_if(rows, [](const SizeRow& row) { return row.point < 0; });
  made.runs = runs_of(rows);
  if (rows.empty()) return made;
  made.note = fmt::format(
      "target {} cannot ask switches that {} for these: its programs are the fastest of those that it "
      "performs, {} at {} instead of {}",
      entry_of(target).name, in_words(abilities_of(answer.result.topology)), format_us(rows.back().us),
      format_bytes(static_cast<double>(rows.back().message_bytes)), format_us(answer.rows.back().us));
  return made;
}

std::string range_of(const SizeRun& run) {
  const std::string from = format_bytes(static_cast<double>(run.from)),
                    to = format_bytes(static_cast<double>(run.to));
  if (run.to == 0) return run.from == 0 ? "all sizes" : "from " + from;
  return run.from == 0 ? "below " + to : from + " to below " + to;
}

// How a program is built and run, where the README can say so.
// "" for targets that other tools load.
std::string commands_for(Target target, const std::string& path, int ranks) {
  switch (target) {
    case Target::Mpi:
      return fmt::format("mpicxx -O2 -std=c++17 {} -o x && mpirun -n {} ./x", path, ranks);
    case Target::Nccl:
      return fmt::format("nvcc -O2 -std=c++17 {} -lnccl -o x && ./x", path);
    case Target::Cuda:
      return fmt::format(
          "cd {0} && make -f all_sizes.mk cpu && ./all_sizes_cpu    # or gpu: virtual ranks on a GPU", path);
    default:
      return "";
  }
}

// A warning if a limit of time or memory, or the caller, has ended the search; else "".
std::string unproven(const Result& result) {
  const bool cut = result.stopped == Stopped::Interrupted || result.stopped == Stopped::TimeLimit ||
                   result.stopped == Stopped::MemoryLimit;
  return result.complete || !cut
             ? ""
             : fmt::format(
                   "**Unproven**: the search was cut ({}). This is what it had found; every schedule is "
                   "verified, and better ones may exist.\n\n",
                   name_of(result.stopped));
}

// The README is made last, when it is known which programs there are; without a target there are none.
// `lacking` is what the target cannot express ("no program ...").
std::string readme_of(const Optimized& answer, const std::vector<std::pair<SizeRun, std::string>>& programs,
                      const std::vector<std::string>& lacking, std::optional<Target> target) {
  const Result& result = answer.result;
  std::string text = fmt::format("# {} on {}\n\n{}{}.\n\n", name_of(result.collective), result.topology.name,
                                 unproven(result), conclusion(answer));
  text += fmt::format("Search: {}.\n\n", search_in_words(answer));
  if (answer.binding) text += in_words(*answer.binding) + ".\n\n";
  text +=
      "- `index.html`: time and bus bandwidth over message size, the machine, the schedules step by step\n"
      "- `table.json`: the table\n"
      "- `result.json`: all schedules with their proofs: `chorale check result.json`, `chorale show "
      "result.json`\n";
  if (!programs.empty() || !lacking.empty()) text += "\n## Programs\n";
  if (!programs.empty()) text += "\n| messages | file |\n|---|---|\n";
  for (const auto& [run, path] : programs) text += fmt::format("| {} | `{}` |\n", range_of(run), path);
  for (const std::string& each : lacking) text += fmt::format("\nThere is {}.\n", each);
  if (!programs.empty() && target)
    if (const std::string commands = commands_for(*target, programs.front().second, result.topology.ranks);
        !commands.empty())
      text += fmt::format("\nA program checks itself on data, and prints its time:\n\n```sh\n{}\n```\n",
                          commands);
  if (answer.time == TimeModel::Events) return text;  // the preload library chooses by times of steps
  return text +
         fmt::format(
             "\n## Without changing a program\n\nThe preload library (in LIB, the folder of Chorale's "
             "libraries) performs the MPI collectives of any\nprogram by the algorithm that is the fastest "
             "for the size of each call:\n\n```sh\n"
             "mpirun -n {} env CHORALE_ALGORITHMS=$PWD/result.json LD_PRELOAD=LIB/libchorale-mpi-preload.so "
             "YOUR_PROGRAM\n```\n\n`CHORALE_LOG=1` reports which calls it performs.\n",
             result.topology.ranks);
}

}  // namespace

// The script can be moved together with its results, which it names relative to itself.
std::string preload_script(int ranks, const std::vector<std::string>& results,
                           const std::string& library_folder) {
  std::string files;
  for (const std::string& result : results) files += (files.empty() ? "$here/" : ":$here/") + result;
  return fmt::format(
      "#!/bin/sh\n# sh run.sh PROGRAM ...: the program on {0} processes; Chorale's algorithms perform its "
      "MPI collectives.\n# CHORALE_LOG=1 reports which; MPIRUN is what starts the processes.\n"
      "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
      "lib=${{CHORALE_LIB:-{1}}}\n"
      "[ -e \"$lib/libchorale-mpi-preload.so\" ] || {{ echo \"run.sh: CHORALE_LIB is to name the folder of "
      "libchorale-mpi-preload.so\" >&2; exit 2; }}\n"
      "exec ${{MPIRUN:-mpirun}} -n {0} env CHORALE_ALGORITHMS=\"{2}\" "
      "LD_PRELOAD=\"$lib/libchorale-mpi-preload.so\" \"$@\"\n",
      ranks, library_folder, files);
}

// MPI, NCCL and CUDA have programs that choose by size, so all runs are one program; the other targets have
// one file each run. Formats of MSCCL state the sizes for which their executor is to choose the file.
OptimizedFiles files_of(const Optimized& answer, std::optional<Target> target, const std::atomic<bool>* stop,
                        std::span<const ReadyPoints> after) {
  const Result& result = answer.result;
  OptimizedFiles made{
      .files = {{"result.json", to_json(result)},
                {"table.json", to_json(answer)},
                {"index.html", to_page(result, best_sizes(result, {}, stop), report_of(answer), stop)}}};
  std::vector<std::pair<SizeRun, std::string>> programs;
  std::vector<std::string> lacking;
  std::set<std::string> written;
  const auto add = [&](const OrError<Compiled>& compiled, const SizeRun& run) {
    if (!compiled) {
      lacking.push_back(fmt::format("no program (messages: {}): {}", range_of(run), compiled.error().what()));
      made.notes.push_back(lacking.back());
      if (!made.refusal) made.refusal = compiled.error();
      return;
    }
    const Compiled& program = *compiled;
    programs.emplace_back(run, program.path);
    if (!program.note.empty()) made.notes.push_back(program.note);
    // Two runs of one point share a file where the format states no sizes.
    if (written.insert(program.path).second)
      made.files.insert(made.files.end(), program.files.begin(), program.files.end());
  };
  if (!target) {
    made.files.push_back({"README.md", readme_of(answer, programs, lacking, target)});
    return made;
  }
  const TargetForm form = entry_of(*target).form;
  const auto [performed, runs, note] = performed_by(*target, answer, stop);
  if (!note.empty()) made.notes.push_back(note);
  const std::string stem = file_stem(result.topology, result.collective);
  // The first entry is for the whole machine: nothing has failed.
  if (form == TargetForm::Program) {
    std::vector<ReadyPoints> ready = {{.topology = &performed.topology, .after = {{}}}};
    for (const SizeRun& run : runs)
      // `to` belongs to the next run, so this one ends a byte of a block before.
      ready.front().points.push_back(
          {.point = &performed.points[run.point],
           .up_to = run.to > 0 ? static_cast<double>(block_of_size(answer.shape, run.to)) - 1 : HUGE_VAL});
    ready.insert(ready.end(), after.begin(), after.end());
    add(try_compile(ready, *target, {.name = stem}), {});
  } else {
    for (const SizeRun& run : runs) {
      CompileOptions options{.name = fmt::format("{}_{}", stem, run.point)};
      if (form == TargetForm::Plan) {
        options.name += fmt::format("_from_{}", run.from);
        options.min_bytes = run.from;
        options.max_bytes = run.to > 0 ? run.to - 1 : 0;
      }
      add(try_compile(performed.topology, performed.points[run.point], *target, options), run);
    }
  }
  if (!programs.empty()) made.refusal.reset();
  made.files.push_back({"README.md", readme_of(answer, programs, lacking, target)});
  return made;
}

}  // namespace chorale
