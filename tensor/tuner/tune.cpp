// Schedules are explored first, without measurements. What is measured then follows from prices and times
// alone, so a run that resumes from a log repeats the search of the run that wrote it, and measures only what
// that did not.
#include "tensor/tuner/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <tuple>

#include "tensor/transformations/moves.h"
#include "tensor/tuner/same_schedule.h"
#include "tensor/tuner/tune_log.h"

namespace chorale {
namespace {

// As if nothing were overlapped: the measure of what a schedule does, whatever is hidden by what.
double one_after_the_other_us(const WorkloadPrice& price) {
  double us = 0;
  for (const RunPrice& run : price.runs)
    for (const UnitPrice& unit : run.units) us += unit.us();
  return us;
}

bool is_overlapped(const WorkloadPrice& price) {
  return std::ranges::any_of(price.runs, [](const RunPrice& run) { return run.units.size() > 1; });
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
    keys_.insert(book_.key(given));
    add(std::move(plain));
    if (Move fused = pointwise_fused(given, options_.most_fused); !fused.script.empty()) {
      open_.clear();  // what is possible without fused computations is possible with them
      consider(0, std::move(fused));
    }
    while (!open_.empty() && result_.end == TuneEnd::Complete) {
      const int from = next_open();
      Moves next = moves(result_.candidates[from].workload, options_.roots);
      result_.refused += next.refused;
      for (Move& move : next.list) consider(from, std::move(move));
      tell(static_cast<int>(open_.size()));
    }
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // The oldest one; of many the cheapest. From what is overlapped nothing leads on, and so the first cheap
  // step would be the last one: overlaps are left for the last quarter, and what is cheap is so without them.
  // Breadth first while there are few, so that a small program is explored completely and in order of
  // depth.
  int next_open() {
    const int count = static_cast<int>(result_.candidates.size());
    const bool late = count > options_.most_candidates / 4 * 3;
    const auto order = [&](int i) {
      const WorkloadPrice& price = result_.candidates[i].price;
      const double apart = one_after_the_other_us(price);
      return std::tuple(!late && is_overlapped(price), apart, price.us);
    };
    const auto next =
        count <= options_.breadth_first ? open_.begin() : std::ranges::min_element(open_, {}, order);
    const int i = *next;
    open_.erase(next);
    return i;
  }

  // A schedule that is known under other names or in another order is not a new one (ScheduleBook).
  void consider(int parent, Move move) {
    if (result_.end != TuneEnd::Complete) return;
    if (options_.stop != nullptr && *options_.stop) {
      result_.end = TuneEnd::Interrupted;
      return;
    }
    ++result_.transformations;
    const std::string key = book_.key(move.after);
    if (keys_.contains(key)) {
      ++result_.repeated;
      return;
    }
    // Only a new schedule that there is no room for makes the search incomplete.
    if (static_cast<int>(result_.candidates.size()) > options_.most_candidates) {
      result_.end = TuneEnd::CandidateLimit;
      return;
    }
    keys_.insert(key);
    const Candidate& from = result_.candidates[parent];
    Candidate found{.parent = parent,
                    .depth = from.depth + 1,
                    .step = move.script,
                    .script = from.script.empty() ? move.script : from.script + "; " + move.script,
                    .workload = std::move(move.after)};
    std::optional<WorkloadPrice> known = price_if_any(found.workload, options_.prices);
    if (!known) {
      ++result_.unpriced;
      return;
    }
    found.price = std::move(*known);
    add(std::move(found));
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
    open_.push_back(static_cast<int>(result_.candidates.size()));
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
  std::set<std::string> keys_;
  std::deque<int> open_;  // candidates from which nothing was tried yet, the oldest first
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
         : end == TuneEnd::CandidateLimit ? "candidate limit"
                                          : "interrupted";
}

}  // namespace chorale
