#include "workload/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <tuple>

#include "ir/error.h"
#include "workload/moves.h"
#include "workload/same_schedule.h"
#include "workload/tune_log.h"

namespace chorale {
namespace {

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
  Tuner(const Workload& given, const TuneOptions& options) : options_(options), log_(given, options.log) {
    note(log_.heading());
    explore(given);
    rank();
    measure();
    rank();
  }

  TuneResult result() { return std::move(result_); }

 private:
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
      Moves next = moves(result_.candidates[from].workload);
      result_.refused += next.refused;
      for (Move& move : next.list) consider(from, std::move(move));
      tell(static_cast<int>(open_.size()), 0, 0);
    }
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  // The oldest one; of many the cheapest. From what is overlapped nothing leads on, and so the first step to look cheap
  // would be the last one: overlaps are left for the last quarter, and what is cheap is so without them.
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
    try {
      found.price = price(found.workload, options_.prices);
    } catch (const InputError&) {
      ++result_.unpriced;
      return;
    }
    add(std::move(found));
  }

  void add(Candidate candidate) {
    best_us_ = result_.candidates.empty() ? candidate.price.us : std::min(best_us_, candidate.price.us);
    candidate.measured_us = log_.measured(candidate.script);
    note(priced_line(candidate));
    if (candidate.measured_us) note(measured_line(candidate));
    open_.push_back(static_cast<int>(result_.candidates.size()));
    result_.candidates.push_back(std::move(candidate));
  }

  void rank() {
    const std::vector<Candidate>& all = result_.candidates;
    result_.ranking.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) result_.ranking[i] = static_cast<int>(i);
    std::ranges::stable_sort(result_.ranking, {}, [&](int i) {
      return std::pair(!all[i].measured_us.has_value(), all[i].measured_us.value_or(all[i].price.us));
    });
  }

  // The best by their prices: what an earlier run has measured is not among the best for that.
  void measure() {
    if (!options_.measure || options_.measured <= 0) return;
    std::vector<int> chosen = result_.ranking;
    std::ranges::stable_sort(chosen, {}, [&](int i) { return std::pair(result_.candidates[i].price.us, i); });
    chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(options_.measured)));
    if (std::ranges::find(chosen, 0) == chosen.end()) chosen.push_back(0);
    int done = 0;
    for (const int i : chosen) {
      if (options_.stop != nullptr && *options_.stop) {
        result_.end = TuneEnd::Interrupted;
        return;
      }
      Candidate& candidate = result_.candidates[i];
      if (!candidate.measured_us) {
        candidate.measured_us = options_.measure(candidate);
        if (candidate.measured_us) note(measured_line(candidate));
      }
      tell(0, ++done, static_cast<int>(chosen.size()));
    }
  }

  void note(const std::string& line) const {
    if (options_.record) options_.record(line);
  }

  void tell(int open, int measured, int to_measure) const {
    if (options_.progress)
      options_.progress({.candidates = static_cast<int>(result_.candidates.size()),
                         .open = open,
                         .measured = measured,
                         .to_measure = to_measure,
                         .best_us = best_us_});
  }

  const TuneOptions& options_;
  const TuneLog log_;
  ScheduleBook book_;
  std::set<std::string> keys_;
  std::deque<int> open_;  // candidates from which nothing was tried yet, the oldest first
  double best_us_ = 0;
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
