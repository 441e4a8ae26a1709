// Baselines are timed first and are then what the search begins with. While it goes on, a thread asks what
// was found so far and times it for each size; it waits four times as long as that took, so the search keeps
// four fifths of the processor. What was the fastest at a size stays, although others dominate it in steps
// and rounds later.
#include "jobs/optimize.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "api/point_times.h"
#include "api/report.h"
#include "api/search.h"
#include "api/timed_stop.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "jobs/baselines.h"
#include "pareto/findings.h"
#include "topology/import/timing_log.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Puts a point back that the search has dropped since: others dominate it in steps and rounds.
void put(const Point& kept, Result& result) {
  const auto same = [&](const Point& point) {
    return point.cost == kept.cost && point.construction == kept.construction;
  };
  if (std::ranges::none_of(result.points, same)) result.points.push_back(kept);
}

// Sends of a point that is timed in any case: a tenth of a second.
constexpr long long kMostSendsOnceStopped = 5'000;

// Keeps the fastest point of each size, whatever the search drops later: a table only improves.
class Table {
 public:
  Table(Topology topology, const Collective& collective, const OptimizeQuestion& question)
      : topology_(std::make_shared<const Topology>(std::move(topology))),
        times_(topology_),
        messages_(question.message_bytes),
        measured_(question.measured),
        shape_(message_shape(collective)),
        blocks_(blocks_of_sizes(collective, messages_)),
        fastest_(blocks_.size()) {}

  const Topology& topology() const { return *topology_; }
  const std::vector<std::int64_t>& blocks() const { return blocks_; }

  void begin_with(std::vector<TimedBaseline> baselines) {
    baselines_ = std::move(baselines);
    for (std::size_t size = 0; size < blocks_.size() && !baselines_.empty(); ++size)
      busiest_.push_back(busiest_part(*topology_, fastest_baseline(size), static_cast<double>(blocks_[size]),
                                      fastest_algorithm(size).times.us[size])
                             .value_or(MachinePart()));
  }
  std::vector<Point> baseline_points() const {
    std::vector<Point> points;
    for (const TimedBaseline& each : baselines_)
      points.insert(points.end(), each.points.begin(), each.points.end());
    return points;
  }

  // Short points are timed after a stop as well: without any time a size would have no row.
  double us(const Point& point, double block_bytes, const std::atomic<bool>* stop) {
    const bool is_short = total_sends(point.schedule) <= kMostSendsOnceStopped;
    return times_.us(point, block_bytes, is_short ? nullptr : stop)
        .value_or(std::numeric_limits<double>::infinity());
  }

  // Once `stop` is true, what would have to be simulated for long is not timed: a baseline, which was timed
  // before, may be faster than what was, or all that has a time, and is taken then.
  Optimized with(Result result, const std::atomic<bool>* stop) {
    Optimized answer{.shape = shape_, .sizes = messages_};
    for (const TimedBaseline& each : baselines_) answer.baselines.push_back(each.times);
    const std::vector<SizeRow> rows = rows_by_size(result, messages_, {}, stop, &times_);
    // Numbers last, since points get others with each that is put among them.
    std::vector<std::shared_ptr<const Fastest>> chosen;
    for (std::size_t size = 0; size < rows.size(); ++size) {
      OptimizedRow made = compared(rows[size], size);
      std::shared_ptr<const Fastest> fastest = fastest_at(size, rows[size], result);
      if (!fastest) {
        fastest = likely_fastest(size, result);
        made.at_most = true;
      }
      made.us = fastest->us;
      made.algbw_gbs = algbw_gbs(static_cast<double>(made.message_bytes), made.us);
      made.busbw_gbs = made.algbw_gbs * shape_.bus_factor;
      answer.rows.push_back(made);
      chosen.push_back(fastest);
    }
    const std::size_t before = result.points.size();
    for (const auto& each : chosen) put(each->point, result);
    // What was put back is marked with the others: it is dominated, or it is on the frontier.
    if (result.points.size() > before) finish_result(result);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto point = std::ranges::find_if(result.points, [&](const Point& each) {
        return each.cost == chosen[i]->point.cost && each.construction == chosen[i]->point.construction;
      });
      answer.rows[i].point = static_cast<int>(point - result.points.begin());
      answer.rows[i].algorithm = origin(*point);
      answer.rows[i].steps = point->cost.steps;
    }
    answer.binding = binding(result);
    answer.result = std::move(result);
    return answer;
  }

 private:
  // Shared and never changed: a thread may still use what another one has replaced.
  struct Fastest {
    double us = 0;
    Point point = {};
  };
  // Of what was the fastest before, of a baseline, and of the row's point, which is the first of equals;
  // null: there is none.
  std::shared_ptr<const Fastest> fastest_at(std::size_t size, const SizeRow& row, const Result& result) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Fastest>& fastest = fastest_[size];
    if (!fastest && !baselines_.empty()) {
      const Point& baseline = fastest_baseline(size);
      // It may add in another order than was asked for.
      if (baseline.collective == with_chunks(result.collective, baseline.cost.chunks))
        fastest = std::make_shared<Fastest>(fastest_algorithm(size).times.us[size], baseline);
    }
    if (row.point >= 0 && (!fastest || row.us <= fastest->us))
      fastest = std::make_shared<Fastest>(row.us, result.points[row.point]);
    return fastest;
  }
  // By the formula, which has each step as long as its worst link makes it: of large schedules that no time
  // is left to simulate.
  std::shared_ptr<const Fastest> likely_fastest(std::size_t size, const Result& result) const {
    const auto us = [&](const Point& point) {
      return time_us(point.cost, *topology_, static_cast<double>(blocks_[size]));
    };
    const Point& likely = *std::ranges::min_element(result.points, {}, us);
    return std::make_shared<Fastest>(us(likely), likely);
  }
  const TimedBaseline& fastest_algorithm(std::size_t size) const {
    return *std::ranges::min_element(baselines_, {},
                                     [&](const TimedBaseline& each) { return each.times.us[size]; });
  }
  const Point& fastest_baseline(std::size_t size) const {
    const TimedBaseline& algorithm = fastest_algorithm(size);
    return algorithm.points[algorithm.fastest[size]];
  }
  OptimizedRow compared(const SizeRow& row, std::size_t size) const {
    OptimizedRow made{
        .message_bytes = messages_[size], .us = row.us, .bound_us = row.least_us, .at_most = row.at_most};
    const auto measured = std::ranges::find(measured_.message_bytes, made.message_bytes);
    if (measured != measured_.message_bytes.end())
      made.measured_us = measured_.us[measured - measured_.message_bytes.begin()];
    if (baselines_.empty()) return made;
    const Baseline& baseline = fastest_algorithm(size).times;
    made.baseline = baseline.name;
    made.baseline_us = baseline.us[size];
    made.baseline_part = busiest_[size].what;
    made.baseline_busy = busiest_[size].share;
    return made;
  }

  const std::shared_ptr<const Topology> topology_;
  PointTimes times_;
  const std::vector<std::int64_t> messages_;
  const MeasuredSizes measured_;
  const MessageShape shape_;
  const std::vector<std::int64_t> blocks_;
  std::mutex mutex_;                                          // of the next
  std::vector<std::shared_ptr<const Fastest>> fastest_ = {};  // by size
  std::vector<TimedBaseline> baselines_ = {};
  std::vector<MachinePart> busiest_ = {};  // [size] -> of the fastest baseline
};

// A row more, or at some size a time or a bound that is better by more than 1e-4; less is not reported.
bool is_better(const Optimized& now, const Optimized& before) {
  if (now.rows.size() != before.rows.size()) return now.rows.size() > before.rows.size();
  for (std::size_t i = 0; i < now.rows.size(); ++i)
    if (now.rows[i].us < before.rows[i].us * (1 - 1e-4) ||
        now.rows[i].bound_us > before.rows[i].bound_us * (1 + 1e-4))
      return true;
  return false;
}

// With what takes no time, or timed until the flag is true.
using Found = std::function<Optimized(const std::atomic<bool>* stop)>;

// Times what is found, as it comes, since the search may drop it later. Calls `improved`, if there is one,
// whenever that is better than before. Until it is stopped.
void report(const Found& found, const std::function<void(const Optimized&)>& improved,
            const std::stop_token& done) {
  using std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  Optimized last;
  const std::atomic<bool> in_haste = true;
  std::atomic<bool> over = false;
  const std::stop_callback end(done, [&] { over = true; });
  for (steady_clock::duration pause = std::chrono::milliseconds(50);;) {
    changed.wait_for(lock, done, pause, [] { return false; });
    if (done.stop_requested()) return;
    const auto before = steady_clock::now();
    // What is known without a simulation first, so that a caller sees something at once; then what timing
    // adds.
    for (const std::atomic<bool>* const stop :
         std::initializer_list<const std::atomic<bool>*>{&in_haste, &over}) {
      Optimized now = found(stop);
      if (done.stop_requested()) return;
      if (!improved || !is_better(now, last)) continue;
      improved(now);
      last = std::move(now);
    }
    pause =
        std::max<steady_clock::duration>(std::chrono::milliseconds(200), 4 * (steady_clock::now() - before));
  }
}

}  // namespace

MeasuredSizes read_measured(const std::string& file) {
  const TimingLog log = read_timing_log(read_file(file), file, TimingOf::Collective);
  std::map<std::int64_t, double> least;  // of a size that was measured several times
  for (std::size_t i = 0; i < log.bytes.size(); ++i) {
    const auto [at, is_new] = least.try_emplace(log.bytes[i], log.us[i]);
    if (!is_new) at->second = std::min(at->second, log.us[i]);
  }
  MeasuredSizes measured;
  for (const auto& [bytes, us] : least) {
    measured.message_bytes.push_back(bytes);
    measured.us.push_back(us);
  }
  return measured;
}

void require_rising(const std::vector<std::int64_t>& sizes) {
  if (!sizes.empty() &&
      (sizes.front() < 0 || std::ranges::adjacent_find(sizes, std::greater_equal()) != sizes.end()))
    throw InputError("sizes", "do not rise from 0 bytes or more", "give each once, the smallest first");
}

Optimized optimize(const Topology& machine, const Collective& collective, const OptimizeQuestion& question) {
  if (question.message_bytes.empty()) throw InputError("sizes", "none is given", "give at least one");
  require_rising(question.message_bytes);
  require_question(machine, collective);
  // Kept as long as a caller may ask what was found, which is longer than the search.
  const auto kept = std::make_shared<Table>(flatten(machine), collective, question);
  Table& table = *kept;
  const Topology& topology = table.topology();
  FrontierOptions search = question.search;
  const TimedStop end(search);
  const std::atomic<bool>* const stop = search.synthesis.limits.stop;
  const bool is_limited = search.time_limit.count() >= 0;
  const std::chrono::milliseconds limit = search.time_limit;
  // Three ends, one within the other: of the search after 4/5 of the limit, of the timing of dominated points
  // after 9/10, of everything at the limit. Each TimedStop replaces the flag of `search` and obeys the one
  // before.
  if (is_limited) search.time_limit = limit * 9 / 10;
  const TimedStop end_of_timing(search);
  search.timing_stop = search.synthesis.limits.stop;
  if (is_limited) search.time_limit = limit * 4 / 5;
  const TimedStop end_of_search(search);
  // A search without a limit ends when its constructions are done; the flag still ends it after 4/5.
  if (!question.uses_all_time) search.time_limit = std::chrono::milliseconds(-1);
  search.sizes = {table.blocks().begin(), table.blocks().end()};
  // By the caller's stop and not the limit of the search, in which this takes no part.
  table.begin_with(timed_baselines(topology, collective, question.baselines, table.blocks(),
                                   question.search.synthesis.limits.stop));
  search.known = table.baseline_points();
  if (!links_alike(topology))
    search.us = [kept, timing = search.timing_stop](const Point& point, double bytes) {
      return kept->us(point, bytes, timing);
    };
  std::jthread reporter;
  search.publish = [&, kept](const std::function<Result()>& result) {
    const Found found = [kept, result](const std::atomic<bool>* until) {
      return kept->with(result(), until);
    };
    reporter =
        std::jthread([&, found](const std::stop_token& done) { report(found, question.improved, done); });
    if (question.publish)
      question.publish([found] {
        const std::atomic<bool> in_haste = true;
        return found(&in_haste);
      });
  };
  Result result = frontier(topology, collective, search);
  // Joined before the last table is made: no report comes after the answer.
  reporter = {};
  end_of_search.tell_why(result);
  end.tell_why(result);
  return table.with(std::move(result), stop);
}

}  // namespace chorale
