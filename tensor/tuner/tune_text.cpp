// What the tuner found, for people and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/json_reader.h"
#include "ir/words.h"
#include "tensor/tuner/tune.h"

namespace chorale {
namespace {

std::string schedule_words(const Candidate& candidate) {
  return candidate.script.empty() ? "as it was given" : candidate.script;
}

// Where the time of a unit goes, but for its launch.
// Steps and launches are paid beside the longest of the three; what is larger names the unit.
std::string bound_by(const UnitPrice& unit) {
  const double longest = std::max({unit.moved_us, unit.memory_us, unit.compute_us});
  if (unit.steps_us + unit.launch_us > longest) return unit.steps_us > unit.launch_us ? "steps" : "launch";
  return longest == unit.moved_us ? "links" : longest == unit.memory_us ? "memory" : "arithmetic";
}

// A line per unit with its time by itself; those that are overlapped are below the time of all of them.
std::string unit_lines(const Candidate& candidate) {
  std::string text;
  for (const RunPrice& run : candidate.price.runs) {
    if (run.units.size() > 1)
      text += fmt::format("    {:<24} {:>10}   overlapped, {}\n", run.overlap, format_us(run.us),
                          counted(run.pieces, "piece"));
    for (const UnitPrice& unit : run.units)
      text += fmt::format("    {}{:<24} {:>10}   {}\n", run.units.size() > 1 ? "  " : "", unit.name,
                          format_us(unit.us()), bound_by(unit));
  }
  return text;
}

std::string json(const UnitPrice& unit) {
  std::vector<std::string> points;
  for (const Cost& cost : unit.points)
    points.push_back(fmt::format("[{},{},{}]", cost.steps, cost.rounds, cost.chunks));
  return fmt::format(
      R"({{"unit":{},"us":{},"launch_us":{},"steps_us":{},"moved_us":{},"memory_us":{},"compute_us":{},"points":[{}]}})",
      quoted(unit.name), unit.us(), unit.launch_us, unit.steps_us, unit.moved_us, unit.memory_us,
      unit.compute_us, fmt::join(points, ","));
}

std::string json(const RunPrice& run) {
  std::vector<std::string> units;
  for (const UnitPrice& unit : run.units) units.push_back(json(unit));
  return fmt::format(R"({{"overlap":{},"pieces":{},"us":{},"units":[{}]}})", quoted(run.overlap), run.pieces,
                     run.us, fmt::join(units, ","));
}

// A line per run, so that a log of thousands of candidates can be searched by grep.
std::string json(const Candidate& candidate) {
  std::vector<std::string> runs;
  for (const RunPrice& run : candidate.price.runs) runs.push_back(json(run));
  std::string measured =
      candidate.measured_us ? fmt::format(R"("measured_us":{},)", *candidate.measured_us) : "";
  if (!candidate.measurements.empty()) {
    std::vector<std::string> all;
    for (const Measurement& each : candidate.measurements)
      all.push_back(fmt::format(R"({{"with":{},"us":{},"execution":{}}})", quoted(each.with), each.us,
                                to_json(each.execution)));
    measured += fmt::format(R"("measurements":[{}],)", fmt::join(all, ","));
  }
  if (!candidate.failure.empty()) measured += fmt::format(R"("failure":{},)", quoted(candidate.failure));
  return fmt::format(
      R"({{"parent":{},"depth":{},"step":{},"script":{},"price_us":{},"execution":{},{}"runs":{}}})",
      candidate.parent, candidate.depth, quoted(candidate.step), quoted(candidate.script), candidate.price.us,
      to_json(candidate.execution), measured, lines(runs, "      "));
}

}  // namespace

// The ranking, how the best one is carried out, and why it wins: its units beside those of the program as it
// was given.
std::string to_text(const TuneResult& result, int most_lines) {
  std::string text = fmt::format(
      "{} in {:.3f} s; {} valid transformations, {} of them to schedules that were known, {} refused",
      counted(static_cast<long long>(result.candidates.size()), "schedule"), result.seconds,
      result.transformations, result.repeated, result.refused);
  if (result.end != TuneEnd::Complete) text += fmt::format("; ended by: {}", to_string(result.end));
  if (result.unpriced > 0) text += fmt::format("; {} without a price", result.unpriced);
  text += fmt::format("\n{:>10} {:>10}  schedule\n", "predicted", "measured");
  for (std::size_t i = 0; i < result.ranking.size() && static_cast<int>(i) < most_lines; ++i) {
    const Candidate& candidate = result.candidates[result.ranking[i]];
    text += fmt::format("{:>10} {:>10}  {}\n", format_us(candidate.price.us),
                        !candidate.failure.empty() ? "failed"
                        : candidate.measured_us    ? format_us(*candidate.measured_us)
                                                   : "-",
                        schedule_words(candidate));
  }
  const Candidate &best = result.candidates[result.ranking[0]], &given = result.candidates[0];
  if (const std::string words = to_string(best.execution); !words.empty())
    text += fmt::format("the best one is carried out so: {}\n", words);
  for (const Measurement& each : best.measurements)
    if (best.measurements.size() > 1)
      text += fmt::format("{:>21}  with {}: {}\n", format_us(each.us), each.with, to_string(each.execution));
  text += fmt::format("the best one, by units:\n{}", unit_lines(best));
  if (&best != &given) text += fmt::format("as it was given:\n{}", unit_lines(given));
  return text;
}

// The program as it was given is the first candidate, and has the names of all.
std::string to_json(const TuneResult& result) {
  std::vector<std::string> candidates;
  for (const Candidate& candidate : result.candidates) candidates.push_back(json(candidate));
  const Workload& given = result.candidates[0].workload;
  return fmt::format(
      "{{\n  \"chorale_tuning\": 1,\n  \"workload\": {},\n  \"ranks\": {},\n  \"groups\": {},\n  \"end\": "
      "{},\n"
      "  \"transformations\": {},\n  \"repeated\": {},\n  \"refused\": {},\n  \"unpriced\": {},\n  "
      "\"seconds\": {},\n"
      "  \"ranking\": {},\n  \"candidates\": {}\n}}\n",
      quoted(given.name), given.ranks, given.groups, quoted(to_string(result.end)), result.transformations,
      result.repeated, result.refused, result.unpriced, result.seconds, list(result.ranking),
      lines(candidates, "  "));
}

}  // namespace chorale
