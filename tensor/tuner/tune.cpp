// Schedules are explored first, without measurements. What is measured then follows from prices and times
// alone, so a run that resumes from a log repeats the search of the run that wrote it, and measures only what
// that did not.
#include "tensor/tuner/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "ir/words.h"
#include "tensor/language/kernels.h"
#include "tensor/language/text.h"
#include "tensor/transformations/moves.h"
#include "tensor/tuner/same_schedule.h"

namespace chorale {
namespace {

// The log of the tuner, a JSON object a line, so that a run that was ended can be taken up: what was measured
// is not measured again. Prices are computed anew, since they take no time and the numbers may be others.
//
// Lines are appended as results come, so the log of a run that was killed is complete but for its last
// line, which has no line end and is dropped. The heading has the program and the machine: times of others
// would be taken for this one's. Sizes are part of the program's text.
class TuneLog {
 public:
  // Of a program on a machine, from the lines of an earlier run. A last line without an end was cut off, and
  // does not count. Throws InputError ("FILE:LINE: ...") for lines that are not measurements, or are of
  // another program or machine.
  TuneLog(const Workload&, std::string machine, const NamedText& lines);

  std::string heading() const;  // {"chorale_tuning_log":2,"program":"...","machine":"ring:4"}
  std::vector<Measurement> measured(const std::string& script) const;

 private:
  std::string program_, machine_;
  std::map<std::string, std::vector<Measurement>> measured_;  // by script
};

constexpr std::size_t kLongestLogText = 1 << 20;

// Texts of a JSON string are without control characters, so the lines of a program are joined by bars.
std::string on_one_line(const Workload& workload) {
  std::string text = to_text(workload);
  for (char& c : text)
    if (c == '\n') c = '|';
  return text;
}

// Line by line, so that an error names its line.
TuneLog::TuneLog(const Workload& workload, std::string machine, const NamedText& log)
    : program_(on_one_line(workload)), machine_(std::move(machine)) {
  std::string_view lines = log.text;
  for (int number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) return;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const JsonReader json = parse_json_line(line, log.path, number);
    if (number == 1) {
      json.require_object({"chorale_tuning_log", "program", "machine"});
      json["chorale_tuning_log"].integer(2, 2);
      if (json["program"].text(kLongestLogText) != program_)
        json.fail("it is the log of another program, or of other sizes", "start a new one");
      if (json["machine"].text(kLongestLogText) != machine_)
        json.fail("it is the log of another machine", "start a new one");
      continue;
    }
    // Prices are validated and dropped, and so are failures: both are found again.
    json.require_object({"script", "price_us", "measured_us", "with", "execution", "failed"});
    const double most = std::numeric_limits<double>::max();
    const std::string script = json["script"].text(kLongestLogText);
    Execution execution = execution_from_json(json["execution"]);
    if (json.has("price_us")) json["price_us"].number(0, most);
    if (json.has("measured_us"))
      measured_[script].push_back({.with = json["with"].text(),
                                   .execution = std::move(execution),
                                   .us = json["measured_us"].number(0, most)});
  }
}

std::string TuneLog::heading() const {
  return fmt::format(R"({{"chorale_tuning_log":2,"program":{},"machine":{}}})", quoted(program_),
                     quoted(machine_));
}

std::vector<Measurement> TuneLog::measured(const std::string& script) const {
  const auto it = measured_.find(script);
  return it == measured_.end() ? std::vector<Measurement>() : it->second;
}

// {"script":"...","price_us":12.5,"execution":{..}},
// {"script":"...","measured_us":13.25,"with":"threads","execution":{..}},
// {"script":"...","failed":"...","with":"threads","execution":{..}}: that one is for people, and tried again.
std::string priced_line(const Candidate& candidate) {
  return fmt::format(R"({{"script":{},"price_us":{},"execution":{}}})", quoted(candidate.script),
                     candidate.price.us, to_json(candidate.price.execution));
}

std::string measured_line(const Candidate& candidate, const Measurement& measurement) {
  return fmt::format(R"({{"script":{},"measured_us":{},"with":{},"execution":{}}})", quoted(candidate.script),
                     measurement.us, quoted(measurement.with), to_json(measurement.execution));
}

std::string failed_line(const Candidate& candidate, const std::string& with, const Execution& execution) {
  return fmt::format(R"({{"script":{},"failed":{},"with":{},"execution":{}}})", quoted(candidate.script),
                     quoted(candidate.failure), quoted(with), to_json(execution));
}

// As if nothing were overlapped: the measure of what a schedule does, whatever is hidden by what.
double one_after_the_other_us(const WorkloadPrice& price) {
  double us = 0;
  for (const RunPrice& run : price.runs)
    for (const UnitPrice& unit : run.units) us += unit.us();
  return us;
}

class Tuner {
 public:
  Tuner(const Workload& given, const TuneOptions& options)
      : options_(options), log_(given, options.machine, options.log) {
    note(log_.heading());
    explore(given);
    rank();
    measure();
    rank();
  }

  TuneResult result() { return std::move(result_); }

 private:
  // The plain program is the first candidate, and its computations in few kernels the second; from there
  // all moves. Fusing computations one pair at a time would make an exponential number of schedules that
  // differ in nothing that matters.
  void explore(const Workload& given) {
    const auto begin = std::chrono::steady_clock::now();
    Candidate plain{.workload = given, .price = price(given, options_.prices)};
    keys_[book_.key(given)] = 0;
    add(std::move(plain));
    int base = 0;
    if (Move fused = pointwise_fused(given, options_.most_fused); !fused.script.empty())
      base = std::max(0, consider(0, std::move(fused)));  // what is possible without it is possible with it
    const auto found = [&] { return static_cast<int>(result_.candidates.size()); };
    int next = base;  // those behind it are found and not expanded
    while (next < found() && found() <= options_.breadth_first && result_.end == TuneEnd::Complete) {
      expand(next++, {});
      tell(found() - next);
    }
    if (next < found() && result_.end == TuneEnd::Complete) part_by_part(base);
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // The schedules, new or known, that the moves lead to.
  std::vector<int> expand(int from, const MoveChoice& choice) {
    std::vector<int> made;
    Moves next = moves(result_.candidates[from].workload, options_.roots, choice);
    result_.refused += next.refused;
    for (Move& move : next.list)
      if (const int number = consider(from, std::move(move)); number >= 0) made.push_back(number);
    return made;
  }

  // Programs of several layers have too many schedules to enumerate: as many as the product of those of their
  // parts, which are each a communication with what is around it. One part after the other is explored from
  // the best of the parts before; and overlaps at last, since what is overlapped is not transformed any more.
  // Before that an order by the time with all units apart is what tells good from bad. kBest: of a LLaMA
  // layer 4 lose the best schedule that 10,000 without parts find, 12 and more do not.
  void part_by_part(int base) {
    constexpr int kBest = 32,
                  kOverlaps = 40;  // schedules: from a part to the next, and of each with overlaps
    const std::vector<NameSet> parts = parts_of(result_.candidates[base].workload);
    const NameSet known =
        std::accumulate(parts.begin(), parts.end(), NameSet(), [](NameSet all, const NameSet& part) {
          all.insert(part.begin(), part.end());
          return all;
        });
    const auto apart = [&](int i) {
      return std::pair(one_after_the_other_us(result_.candidates[i].price), i);
    };
    const auto together = [&](int i) { return std::pair(result_.candidates[i].price.us, i); };
    std::vector<int> best = {base};
    const auto room = [&](std::size_t shares) {
      return (options_.most_candidates - static_cast<int>(result_.candidates.size())) /
             static_cast<int>(shares);
    };
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const MoveChoice choice{.of = [&](const std::string& name) { return is_of(name, parts[k], known); },
                              .overlaps = false};
      best = explored(best, choice, apart, room(parts.size() - k + 1), kBest);
    }
    for (std::size_t k = 0; k < best.size(); ++k)
      explored({best[k]}, {.others = false}, together, std::max(kOverlaps, room(best.size() - k)), 1);
    result_.parts = static_cast<int>(parts.size());
    if (result_.end == TuneEnd::Complete) result_.end = cut_ ? TuneEnd::CandidateLimit : TuneEnd::PartByPart;
  }

  // All that the moves of the choice lead to from these, from one after the other, the cheapest first, up to
  // `most` new ones; of all of them the `kept` cheapest.
  template <typename Order>
  std::vector<int> explored(const std::vector<int>& from, const MoveChoice& choice, const Order& order,
                            int most, int kept) {
    const auto limit = static_cast<int>(result_.candidates.size()) + most;
    std::set<decltype(order(0))> met, open;
    for (const int i : from) met.insert(order(i));
    for (const int start : from) {
      open.insert(order(start));
      while (!open.empty() && result_.end == TuneEnd::Complete &&
             static_cast<int>(result_.candidates.size()) < limit) {
        for (const int i : expand(open.extract(open.begin()).value().second, choice))
          if (met.insert(order(i)).second) open.insert(order(i));
        tell(static_cast<int>(open.size()));
      }
    }
    cut_ = cut_ || !open.empty();
    std::vector<int> best;
    for (auto it = met.begin(); it != met.end() && static_cast<int>(best.size()) < kept; ++it)
      best.push_back(it->second);
    return best;
  }

  using NameSet = std::set<std::string>;

  // Of each communication: its unit, units that read its result, through others but products, and these
  // products; and units that make its operand, up to the first product. What is in none is the last part.
  static std::vector<NameSet> parts_of(const Workload& workload) {
    const std::vector<Unit> all = units(workload);
    const auto any = [&](const Unit& unit, const auto& is) {
      return std::ranges::any_of(unit.operations, [&](int i) { return is(workload.operations[i].kind); });
    };
    const auto ends = [&](const Unit& unit) { return any(unit, is_product) || any(unit, is_communication); };
    std::vector<NameSet> parts;
    NameSet others;
    for (const Operation& operation : workload.operations) others.insert(operation.name);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!any(all[k], is_communication)) continue;
      std::set<std::size_t> taken = {k}, after = {k}, before = {k};
      for (std::size_t i = k + 1; i < all.size(); ++i)
        if (std::ranges::any_of(after, [&](std::size_t j) { return reads_from(workload, all[i], all[j]); })) {
          if (!ends(all[i])) after.insert(i);
          if (!any(all[i], is_communication)) taken.insert(i);
        }
      for (std::size_t i = k; i-- > 0;)
        if (std::ranges::any_of(before,
                                [&](std::size_t j) { return reads_from(workload, all[j], all[i]); })) {
          if (!ends(all[i])) before.insert(i);
          if (!any(all[i], is_communication)) taken.insert(i);
        }
      NameSet& part = parts.emplace_back();
      for (const std::size_t i : taken)
        for (const int o : all[i].operations)
          part.insert(workload.operations[o].name), others.erase(workload.operations[o].name);
    }
    parts.push_back(std::move(others));
    return parts;
  }

  // Transformations put words before the name of what they make something of: rs_sum, s2_out.
  static bool is_of(std::string name, const NameSet& part, const NameSet& known) {
    while (!known.contains(name)) {
      const std::size_t end = name.find('_');
      if (end == name.npos) return true;
      name.erase(0, end + 1);
    }
    return part.contains(name);
  }

  // The number of the schedule, which is known perhaps under other names or in another order (ScheduleBook);
  // -1 where it is none.
  int consider(int parent, Move move) {
    if (result_.end != TuneEnd::Complete) return -1;
    if (options_.stop != nullptr && *options_.stop) {
      result_.end = TuneEnd::Interrupted;
      return -1;
    }
    ++result_.transformations;
    const std::string key = book_.key(move.after);
    if (const auto known = keys_.find(key); known != keys_.end()) {
      ++result_.repeated;
      return known->second;
    }
    // Only a new schedule that there is no room for makes the search incomplete.
    if (static_cast<int>(result_.candidates.size()) > options_.most_candidates) {
      result_.end = TuneEnd::CandidateLimit;
      return -1;
    }
    int& number = keys_[key] = -1;
    const Candidate& from = result_.candidates[parent];
    Candidate found{.parent = parent,
                    .depth = from.depth + 1,
                    .step = move.script,
                    .script = from.script.empty() ? move.script : from.script + "; " + move.script,
                    .workload = std::move(move.after)};
    std::optional<WorkloadPrice> price = price_if_any(found.workload, options_.prices);
    if (!price) {
      ++result_.unpriced;
      return -1;
    }
    found.price = std::move(*price);
    add(std::move(found));
    return number = static_cast<int>(result_.candidates.size()) - 1;
  }

  // Measurements of an earlier run are taken over when their schedule is found again, by its script.
  void add(Candidate candidate) {
    best_us_ = result_.candidates.empty() ? candidate.price.us : std::min(best_us_, candidate.price.us);
    note(priced_line(candidate));
    for (Measurement& measurement : log_.measured(candidate.script)) {
      note(measured_line(candidate, measurement));
      if (is_possible(candidate, measurement.execution))
        candidate.measurements.push_back(std::move(measurement));
    }
    settle(candidate);
    result_.candidates.push_back(std::move(candidate));
  }

  // Points of an earlier run may be none of this one's.
  bool is_possible(const Candidate& candidate, const Execution& execution) const {
    return price_if_any(candidate.workload, options_.prices, execution).has_value();
  }

  // The execution that it is known by.
  void settle(Candidate& candidate) const {
    candidate.execution = candidate.price.execution;
    candidate.measured_us.reset();
    for (const Measurement& each : candidate.measurements)
      if (each.with == options_.with && (!candidate.measured_us || each.us < *candidate.measured_us))
        candidate.measured_us = each.us, candidate.execution = each.execution;
  }

  // Failures last, then what was not measured: a prediction is never put before a measurement.
  void rank() {
    const std::vector<Candidate>& all = result_.candidates;
    result_.ranking.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) result_.ranking[i] = static_cast<int>(i);
    std::ranges::stable_sort(result_.ranking, {}, [&](int i) {
      return std::tuple(!all[i].failure.empty(), !all[i].measured_us.has_value(),
                        all[i].measured_us.value_or(all[i].price.us));
    });
  }

  // The best by their prices: what an earlier run has measured is not among the best for that.
  // All chosen ones first as they are priced; then the settings of those within 1.5 times of the fastest are
  // varied. Runs are expensive, and settings of a slower schedule are not expected to make up for more.
  void measure() {
    if (!options_.measure || options_.measured <= 0) return;
    std::vector<int> chosen = result_.ranking;
    std::ranges::stable_sort(chosen, {}, [&](int i) { return std::pair(result_.candidates[i].price.us, i); });
    chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(options_.measured)));
    if (std::ranges::find(chosen, 0) == chosen.end()) chosen.push_back(0);
    to_measure_ = static_cast<int>(chosen.size());
    for (const int i : chosen) {
      Candidate& candidate = result_.candidates[i];
      timed(candidate, candidate.price.execution);
      ++measured_;
      tell(0);
      if (result_.end == TuneEnd::Interrupted) return;
    }
    std::erase_if(chosen, [&](int i) { return !result_.candidates[i].measured_us; });
    const auto time = [&](int i) { return *result_.candidates[i].measured_us; };
    std::ranges::stable_sort(chosen, {}, time);
    for (const int i : chosen)
      if (time(i) <= 1.5 * time(chosen.front())) vary(result_.candidates[i]);
  }

  // Along one setting after the other, from value to value as long as it gets faster by more than what runs
  // differ anyway.
  void vary(Candidate& candidate) {
    constexpr double kBetter = 0.98;
    Execution best = candidate.price.execution;
    std::optional<double> best_us = timed(candidate, best);
    int left = options_.variations;
    for (const OpenSetting& setting : open_settings(candidate.workload, options_.prices, options_.values)) {
      const std::size_t from = value_of(best, setting);
      for (const int step : {1, -1}) {
        std::size_t value = value_of(best, setting);
        if (value != from) break;  // the other direction was the right one
        while (best_us && left > 0 && (step > 0 ? value + 1 < setting.size() : value > 0)) {
          value = step > 0 ? value + 1 : value - 1;
          const Execution next = with_value(best, setting, value);
          const std::optional<double> us = timed(candidate, next);
          if (result_.end == TuneEnd::Interrupted) return;
          --left, ++varied_;
          tell(0);
          if (!us || *us >= kBetter * *best_us) break;
          best = next, best_us = us;
        }
      }
    }
  }

  // What is known is not measured again.
  // What failed once is not run again in this search; in a later one it is, since a failure may have been
  // the machine's.
  std::optional<double> timed(Candidate& candidate, const Execution& execution) {
    for (const Measurement& each : candidate.measurements)
      if (each.with == options_.with && each.execution == execution) return each.us;
    if (!candidate.failure.empty()) return {};
    if (options_.stop != nullptr && *options_.stop) {
      result_.end = TuneEnd::Interrupted;
      return {};
    }
    Timing timing = options_.measure(candidate, execution);
    if (!timing.us && options_.stop != nullptr && *options_.stop) {  // which ends what runs, too
      result_.end = TuneEnd::Interrupted;
      return {};
    }
    if (!timing.failure.empty()) {
      candidate.failure = std::move(timing.failure);
      note(failed_line(candidate, options_.with, execution));
      return {};
    }
    if (!timing.us) return {};
    candidate.measurements.push_back({.with = options_.with, .execution = execution, .us = *timing.us});
    note(measured_line(candidate, candidate.measurements.back()));
    settle(candidate);
    return timing.us;
  }

  void note(const std::string& line) const {
    if (options_.record) options_.record(line);
  }

  void tell(int open) const {
    if (options_.progress)
      options_.progress({.candidates = static_cast<int>(result_.candidates.size()),
                         .open = open,
                         .measured = measured_,
                         .to_measure = to_measure_,
                         .varied = varied_,
                         .best_us = best_us_});
  }

  const TuneOptions& options_;
  const TuneLog log_;
  ScheduleBook book_;
  bool cut_ = false;                 // a part was not explored to its end
  std::map<std::string, int> keys_;  // of schedules that have a price, their numbers; else -1
  double best_us_ = 0;
  int measured_ = 0, to_measure_ = 0, varied_ = 0;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const Workload& workload, const TuneOptions& options) {
  return Tuner(workload, options).result();
}

std::string to_string(TuneEnd end) {
  return end == TuneEnd::Complete         ? "complete"
         : end == TuneEnd::PartByPart     ? "part by part"
         : end == TuneEnd::CandidateLimit ? "candidate limit"
                                          : "interrupted";
}

// What the tuner found, as a report and as JSON.
template <>
struct Fields<UnitPrice> {
  using U = UnitPrice;
  static double us(const U& unit) { return unit.us(); }
  static std::vector<std::vector<int>> points(const U& unit) {
    std::vector<std::vector<int>> all;
    for (const Cost& cost : unit.points) all.push_back({cost.steps, cost.rounds, cost.chunks});
    return all;
  }
  static constexpr std::tuple all = {field<&U::name>({.name = "unit"}),
                                     Derived<U, us>{{.name = "us"}},
                                     field<&U::launch_us>(),
                                     field<&U::steps_us>(),
                                     field<&U::moved_us>(),
                                     field<&U::memory_us>(),
                                     field<&U::compute_us>(),
                                     Derived<U, points>{{.name = "points"}}};
};
template <>
struct Fields<RunPrice> {
  using R = RunPrice;
  static constexpr auto all = plain_fields<&R::overlap, &R::pieces, &R::us, &R::units>();
};
template <>
struct Fields<Measurement> {
  using M = Measurement;
  static constexpr std::tuple all = {field<&M::with>(), field<&M::us>(), field<&M::execution>()};
};
template <>
struct Fields<Candidate> {
  using C = Candidate;
  static constexpr std::tuple all = {field<&C::parent>(),
                                     field<&C::depth>(),
                                     field<&C::step>(),
                                     field<&C::script>(),
                                     field<&C::price, &WorkloadPrice::us>({.name = "price_us"}),
                                     field<&C::execution>(),
                                     field<&C::measured_us>({.unless_default = true}),
                                     field<&C::measurements>({.unless_default = true}),
                                     field<&C::failure>({.unless_default = true}),
                                     field<&C::price, &WorkloadPrice::runs>()};
};

namespace {

struct TuningFields : CompactFields {
  static std::string write(const Execution& execution, const FieldWords&) { return to_json(execution); }
};

// Where the time of a unit goes, but for its launch.
// Steps and launches are paid beside the longest of the three; what is larger names the unit.
std::string bound_by(const UnitPrice& unit) {
  const double longest = std::max({unit.moved_us, unit.memory_us, unit.compute_us});
  if (unit.steps_us + unit.launch_us > longest) return unit.steps_us > unit.launch_us ? "steps" : "launch";
  return longest == unit.moved_us ? "links" : longest == unit.memory_us ? "memory" : "arithmetic";
}

// A row per unit with its time by itself; those that are overlapped follow the time of all of them.
ReportTable units_table(const char* title, const Candidate& candidate) {
  ReportTable table{.title = title, .rows = {{"unit", "time", "most of it"}}, .kinds = "lrl"};
  for (const RunPrice& run : candidate.price.runs) {
    if (run.units.size() > 1)
      table.rows.push_back({run.overlap, format_us(run.us), "overlapped, " + counted(run.pieces, "piece")});
    for (const UnitPrice& unit : run.units)
      table.rows.push_back(
          {(run.units.size() > 1 ? "  " : "") + unit.name, format_us(unit.us()), bound_by(unit)});
  }
  return table;
}

// Whether it is known that no other schedule has a lower price.
std::string searched(const TuneResult& result) {
  switch (result.end) {
    case TuneEnd::Complete:
      return "all that the transformations lead to";
    case TuneEnd::PartByPart:
      return fmt::format("of {} one after the other: another combination may have a lower price",
                         counted(result.parts, "part"));
    default:
      return "not all that the transformations lead to: ended by " + to_string(result.end);
  }
}

}  // namespace

// The ranking, how the best one is carried out, and why it wins: its units beside those of the program as it
// was given.
Report report_of(const TuneResult& result, int most_rows) {
  const Candidate &best = result.candidates[result.ranking[0]], &given = result.candidates[0];
  ReportTable ranking{
      .title = "Schedules, the best first", .rows = {{"predicted", "measured", "schedule"}}, .kinds = "rrl"};
  for (std::size_t i = 0; i < result.ranking.size() && static_cast<int>(i) < most_rows; ++i) {
    const Candidate& candidate = result.candidates[result.ranking[i]];
    ranking.rows.push_back({format_us(candidate.price.us),
                            !candidate.failure.empty() ? "failed"
                            : candidate.measured_us    ? format_us(*candidate.measured_us)
                                                       : "-",
                            candidate.script.empty() ? "as it was given" : candidate.script});
  }
  const Workload& program = given.workload;
  Report report{
      .title = fmt::format("{} on {}{}, tuned", program.name, counted(program.ranks, "rank"),
                           program.groups > 1 ? fmt::format(" in each of {} groups", program.groups) : ""),
      .tables = {std::move(ranking)}};
  ReportTable measured{
      .title = "The best one, measured", .rows = {{"measured", "with", "settings"}}, .kinds = "rll"};
  for (const Measurement& each : best.measurements)
    measured.rows.push_back({format_us(each.us), each.with, to_string(each.execution)});
  if (best.measurements.size() > 1) report.tables.push_back(std::move(measured));
  report.tables.push_back(units_table("The best one, by units", best));
  if (&best != &given) report.tables.push_back(units_table("As it was given, by units", given));
  if (const std::string words = to_string(best.execution); !words.empty())
    report.sentences.push_back("the best one is carried out so: " + words);
  report.sentences.push_back(fmt::format(
      "{} in {:.3f} s, {}; {} valid transformations, {} of them to schedules that were known, {} refused{}",
      counted(std::ssize(result.candidates), "schedule"), result.seconds, searched(result),
      result.transformations, result.repeated, result.refused,
      result.unpriced > 0 ? fmt::format("; {} without a price", result.unpriced) : ""));
  return report;
}

// The program as it was given is the first candidate, and has the names of all. A line per candidate, so that
// thousands can be searched by grep.
std::string to_json(const TuneResult& result) {
  const Workload& given = result.candidates[0].workload;
  std::vector<JsonText> candidates;
  for (const Candidate& each : result.candidates) candidates.push_back({write_fields(each, TuningFields())});
  return json_file("chorale_tuning", 1, "workload", given.name, "ranks", given.ranks, "groups", given.groups,
                   "end", to_string(result.end), "transformations", result.transformations, "repeated",
                   result.repeated, "refused", result.refused, "unpriced", result.unpriced, "seconds",
                   result.seconds, "ranking", JsonText{list(result.ranking)}, "candidates", candidates);
}

}  // namespace chorale
