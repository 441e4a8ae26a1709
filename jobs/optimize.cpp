// Baselines are timed first and are then what the search begins with. While it goes on, a thread asks what
// was found so far and times it for each size; it waits four times as long as that took, so the search keeps
// four fifths of the processor. What was the fastest at a size stays, although others dominate it in steps
// and rounds later.
#include "jobs/optimize.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "api/library_model.h"
#include "api/report.h"
#include "api/search.h"
#include "api/timed_stop.h"
#include "construct/baselines/classic.h"
#include "construct/events.h"
#include "cost/cost.h"
#include "cost/event_time.h"
#include "graph/fewer_links.h"
#include "pareto/findings.h"
#include "semantics/verify_event_times.h"

namespace chorale {
namespace {

// Puts a point back that the search has dropped since: others dominate it in steps and rounds.
void put(const Point& kept, Result& result) {
  const auto same = [&](const Point& point) {
    return point.cost == kept.cost && point.construction == kept.construction;
  };
  if (std::ranges::none_of(result.points, same)) result.points.push_back(kept);
}

std::vector<Point> points_of(const std::vector<TimedBaseline>& baselines) {
  std::vector<Point> points;
  for (const TimedBaseline& each : baselines)
    points.insert(points.end(), each.points.begin(), each.points.end());
  return points;
}

// Sends of a point that is timed in any case: a tenth of a second.
constexpr long long kMostSendsOnceStopped = 5'000;

// Keeps the fastest point of each size, whatever the search drops later: a table only improves.
class Table {
 public:
  Table(const Machine& machine, const Collective& collective, const OptimizeQuestion& question)
      : times_(machine, question.time),
        state_time_bounds_(
            time_bounds_of(machine, collective, blocks_of_sizes(collective, question.message_bytes))),
        messages_(question.message_bytes),
        measured_(question.measured),
        shape_(message_shape(collective)),
        blocks_(blocks_of_sizes(collective, messages_)),
        fastest_(blocks_.size()) {
    // The model's times have all that a call costs: ours are compared with them where they have it, too.
    if (question.baselines == BaselineSet::Mpi || machine.topology().call_us == 0) return;
    const std::optional<LibraryMachine> known = library_machine(machine);
    const std::optional<LibraryCall> call = library_call(collective);
    if (!known || !call) return;
    library_ = library_of(*known);
    library_machine_ = *known;
    library_call_ = *call;
    library_times_ = library_times(*known, *call, messages_);
  }

  const std::vector<std::int64_t>& blocks() const { return blocks_; }

  void begin_with(std::vector<TimedBaseline> baselines) {
    baselines_ = std::move(baselines);
    for (std::size_t size = 0; size < blocks_.size() && !baselines_.empty(); ++size)
      busiest_.push_back(busiest_part(times_.machine(), fastest_baseline(size),
                                      static_cast<double>(blocks_[size]),
                                      fastest_algorithm(size).times.us[size])
                             .value_or(MachinePart()));
  }
  std::vector<Point> baseline_points() const { return points_of(baselines_); }

  // Short points are timed after a stop as well: without any time a size would have no row.
  double us(const Point& point, double block_bytes, const std::atomic<bool>* stop) {
    const bool is_short = total_sends(point.schedule) <= kMostSendsOnceStopped;
    return times_.us(point, block_bytes, is_short ? nullptr : stop)
        .value_or(std::numeric_limits<double>::infinity());
  }

  // Once `stop` is true, what would have to be simulated for long is not timed: a baseline, which was timed
  // before, may be faster than what was, or all that has a time, and is taken then.
  Optimized with(Result result, const std::atomic<bool>* stop, bool is_searched) {
    state_time_bounds_(result);
    Optimized answer{.shape = shape_, .sizes = messages_, .library = library_, .time = times_.model()};
    for (const TimedBaseline& each : baselines_) answer.baselines.push_back(each.times);
    const std::vector<SizeRow> rows = rows_by_size(result, messages_, {}, stop, &times_, is_searched);
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
      answer.rows[i].algorithm = algorithm_of(result.topology, *point);
      answer.rows[i].steps = point->cost.steps;
      if (!library_.empty())
        answer.rows[i].emitted_us =
            emitted_us(library_machine_, library_call_, messages_[i], answer.rows[i].us, point->cost.steps);
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
      return time_us(point.cost, times_.machine().once(alpha_beta), static_cast<double>(blocks_[size]));
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
    if (!library_times_.empty()) {
      const LibraryTime& time = library_times_[size];
      made.library = time.algorithm + " " + time.protocol;
      made.library_us = time.us;
    }
    if (baselines_.empty()) return made;
    const Baseline& baseline = fastest_algorithm(size).times;
    made.baseline = baseline.name;
    made.baseline_us = baseline.us[size];
    made.baseline_part = busiest_[size].what;
    made.baseline_busy = busiest_[size].share;
    return made;
  }

  PointTimes times_;
  const TimeBoundsOf state_time_bounds_;
  const std::vector<std::int64_t> messages_;
  const MeasuredSizes measured_;
  const MessageShape shape_;
  const std::vector<std::int64_t> blocks_;
  std::string library_ = {};
  LibraryMachine library_machine_ = {};
  LibraryCall library_call_ = LibraryCall::AllReduce;
  std::vector<LibraryTime> library_times_ = {};               // [size]; empty: none is known
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

// The fastest of each size that was found by events, each once: of all sizes with little work, then with
// more, so that a limit leaves no size without. All together have the work of four, some three seconds, and
// an eighth of it.
std::vector<Point> points_by_events(const Machine& machine, const Collective& one,
                                    const FrontierOptions& search) {
  std::vector<Point> points;
  const long long work = kEventWork * 4 / std::max<std::int64_t>(4, std::ssize(search.sizes));
  const auto add = [&](double bytes, long long of_work) {
    const auto us = [&](const Schedule& schedule, int chunks) {
      return *event_us(schedule, machine, chunks, bytes);
    };
    std::optional<Point> point = event_schedule({.topology = machine,
                                                 .one = one,
                                                 .block_bytes = bytes,
                                                 .min_chunks = search.min_chunks,
                                                 .max_chunks = search.max_chunks,
                                                 .us = us,
                                                 .work = of_work,
                                                 .stop = search.synthesis.limits.stop});
    if (!point || std::ranges::find(points, point->schedule, &Point::schedule) != points.end()) return;
    const EventTimes times = event_times(point->schedule, machine, point->cost.chunks, bytes);
    const std::vector<Fault> faults =
        violations(machine, point->schedule, times, bytes / point->cost.chunks, 1);
    if (!faults.empty()) throw std::logic_error("times by events: " + faults.front().words);
    points.push_back(*std::move(point));
  };
  for (const long long of_work : {work / 8, work})
    for (const double bytes : search.sizes) add(bytes, of_work);
  return points;
}

}  // namespace

void require_rising(const std::vector<std::int64_t>& sizes) {
  if (!sizes.empty() &&
      (sizes.front() < 0 || std::ranges::adjacent_find(sizes, std::greater_equal()) != sizes.end()))
    throw InputError("sizes", "do not rise from 0 bytes or more", "give each once, the smallest first");
}

Optimized optimize(const Machine& machine, const Collective& collective, const OptimizeQuestion& question) {
  if (question.message_bytes.empty()) throw InputError("sizes", "none is given", "give at least one");
  require_rising(question.message_bytes);
  require_question(machine, collective);
  // Kept as long as a caller may ask what was found, which is longer than the search.
  const auto kept = std::make_shared<Table>(machine, collective, question);
  Table& table = *kept;
  FrontierOptions search = question.search;
  // A search that nobody limits is cut by the time that it has on the processor: on a busy machine, too, its
  // effort ends it.
  const bool is_unlimited = search.time_limit.count() < 0 && search.effort < 0;
  const auto timer = is_unlimited ? TimedStop::Clock::ThisThread : TimedStop::Clock::Wall;
  if (is_unlimited) search.time_limit = kLongestOptimize;
  const TimedStop end(search, timer);
  const std::atomic<bool>* const stop = search.synthesis.limits.stop;
  const bool is_limited = search.time_limit.count() >= 0;
  const std::chrono::milliseconds limit = search.time_limit;
  // Three ends, one within the other: of the search after 4/5 of the limit, of the timing of dominated points
  // after 9/10, of everything at the limit. Each TimedStop replaces the flag of `search` and obeys the one
  // before.
  if (is_limited) search.time_limit = limit * 9 / 10;
  const TimedStop end_of_timing(search, timer);
  search.timing_stop = search.synthesis.limits.stop;
  if (is_limited) search.time_limit = limit * 4 / 5;
  const TimedStop end_of_search(search, timer);
  // A search without a limit ends when its constructions are done; the flag still ends it after 4/5.
  if (!question.uses_all_time) {
    search.time_limit = std::chrono::milliseconds(-1);
    if (search.effort < 0) search.effort = kUsualEffort;
  }
  search.sizes = {table.blocks().begin(), table.blocks().end()};
  // By the caller's stop and not the limit of the search, in which this takes no part.
  table.begin_with(timed_baselines(machine, collective, question.baselines, table.blocks(),
                                   question.search.synthesis.limits.stop, question.time));
  search.known = table.baseline_points();
  const auto add_events = [&](const Machine& on, std::vector<Point>& points) {
    if (question.time != TimeModel::Events) return;
    for (Point& point : points_by_events(on, collective, search)) points.push_back(std::move(point));
  };
  add_events(machine, search.known);
  search.known_on = [&](const Machine& fewer) {
    std::vector<Point> points =
        points_of(timed_baselines(fewer, collective, question.baselines, table.blocks(),
                                  question.search.synthesis.limits.stop, question.time));
    add_events(fewer, points);
    return points;
  };
  if (question.time == TimeModel::Events || !machine.once(have_equal_rates))
    search.us = [kept, timing = search.timing_stop](const Point& point, double bytes) {
      return kept->us(point, bytes, timing);
    };
  std::jthread reporter;
  search.publish = [&, kept](const std::function<Result()>& result) {
    const Found found = [kept, result, is_limited, limit](const std::atomic<bool>* until) {
      Result so_far = result();
      if (is_limited) so_far.limits.time_ms = limit.count();
      return kept->with(std::move(so_far), until, true);
    };
    reporter =
        std::jthread([&, found](const std::stop_token& done) { report(found, question.improved, done); });
    if (question.publish)
      question.publish([found] {
        const std::atomic<bool> in_haste = true;
        return found(&in_haste);
      });
  };
  Result result = frontier(machine, collective, search);
  // Joined before the last table is made: no report comes after the answer.
  reporter = {};
  end_of_search.record_why(result);
  end.record_why(result);
  return table.with(std::move(result), stop, false);
}

// A baseline is timed as it would be used: at each size with the chunk count that is the fastest there, since
// rings and trees are pipelines, and their best number of chunks grows with the message.

namespace {

// Sends of a baseline beyond which more chunks are not tried; and beyond which machines have none: where
// links differ each send is simulated, some two microseconds for each size. Once stopped those are timed
// nevertheless whose sends, at all sizes together, are a tenth of a second; and of machines of more than 64
// ranks one baseline is enough then: the plans of the others take seconds (2.7 of CPU on torus:16x16).
constexpr long long kMaxSimulatedOnceStopped = 30'000;
constexpr int kMaxRanksAllOnceStopped = 64;
constexpr long long kMostBaselineSends = 20'000, kMostSimulated = 300'000, kMostSends = 5'000'000;

// A baseline by its chunk counts.
struct BaselineChunks {
  std::string name = {};
  std::vector<Point> points = {};  // one per chunk count
};

// Its own choice of a chunk count comes first, then powers of two: pipelines gain by more chunks.
BaselineChunks baseline_chunks(Method method, const Machine& machine, Rank root,
                               const std::atomic<bool>* stop) {
  BaselineChunks algorithm{.name = name_of(method)};
  for (const int chunks : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    const bool is_long = chunks > 1 && !algorithm.points.empty() &&
                         2 * total_sends(algorithm.points.back().schedule) > kMostBaselineSends;
    if (is_long || (!algorithm.points.empty() && stop != nullptr && *stop)) break;
    std::optional<Point> point = classic_if_possible(method, machine, {.chunks = chunks, .root = root});
    if (point) algorithm.points.push_back(std::move(*point));
  }
  return algorithm;
}

// Auto is NCCL's where the machine has links for one of its algorithms, and all that are known otherwise.
std::vector<BaselineChunks> algorithms_of(const Machine& machine, const Collective& collective,
                                          BaselineSet set, const std::atomic<bool>* stop) {
  constexpr long long kMostPerPair = 16;  // sends: two phases over eight rings
  const long long most = machine.once(have_equal_rates) ? kMostSends : kMostSimulated;
  const int ranks = machine.topology().ranks;
  if (kMostPerPair * ranks * ranks > most) return {};
  std::vector<BaselineChunks> nccl, all;
  const std::vector<FewerLinks>& fast = machine.once(machines_of_fewer_links);
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != collective.kind) continue;
    if (!all.empty() && ranks > kMaxRanksAllOnceStopped && stop != nullptr && *stop) break;
    BaselineChunks algorithm = baseline_chunks(entry.method, machine, collective.root, stop);
    // A library would not lay its rings and trees over slow links.
    for (const FewerLinks& fewer : fast)
      for (const Point& point : baseline_chunks(entry.method, fewer.machine, collective.root, stop).points)
        algorithm.points.push_back(
            on_whole(point, fewer, machine, collective, machine.once(have_equal_rates)));
    if (algorithm.points.empty()) continue;
    if (entry.of_nccl) nccl.push_back(algorithm);
    all.push_back(std::move(algorithm));
  }
  return set == BaselineSet::Mpi || (set == BaselineSet::Auto && nccl.empty()) ? all : nccl;
}

// Points that are the fastest nowhere are dropped, and the others renumbered in the order in which sizes meet
// them. Nothing if at some size no point was timed before the stop.
std::optional<TimedBaseline> timed(BaselineChunks algorithm, const Machine& machine,
                                   const std::vector<std::int64_t>& blocks, const std::atomic<bool>* stop,
                                   TimeModel model) {
  TimedBaseline baseline{.times = {.name = algorithm.name}};
  std::map<std::size_t, std::size_t> kept;  // by number before: after
  for (const std::int64_t bytes : blocks) {
    std::vector<double> us;
    for (const Point& point : algorithm.points) {
      const bool is_short = total_sends(point.schedule) * std::ssize(blocks) <= kMaxSimulatedOnceStopped;
      us.push_back(point_us(machine, model, point, static_cast<double>(bytes), is_short ? nullptr : stop)
                       .value_or(std::numeric_limits<double>::infinity()));
    }
    const auto least = std::ranges::min_element(us);
    if (std::isinf(*least)) return {};
    baseline.fastest.push_back(kept.try_emplace(least - us.begin(), kept.size()).first->second);
    baseline.times.us.push_back(*least);
  }
  baseline.points.resize(kept.size());
  for (const auto& [before, after] : kept) baseline.points[after] = std::move(algorithm.points[before]);
  return baseline;
}

}  // namespace

std::span<const Named<BaselineSet>> baseline_sets() {
  static constexpr Named<BaselineSet> kSets[] = {{BaselineSet::Auto, "auto"},
                                                 {BaselineSet::Nccl, "nccl"},
                                                 {BaselineSet::Rccl, "rccl"},
                                                 {BaselineSet::Mpi, "mpi"}};
  return kSets;
}

std::vector<TimedBaseline> timed_baselines(const Machine& machine, const Collective& collective,
                                           BaselineSet set, const std::vector<std::int64_t>& blocks,
                                           const std::atomic<bool>* stop, TimeModel model) {
  std::vector<TimedBaseline> baselines;
  for (BaselineChunks& algorithm : algorithms_of(machine, collective, set, stop))
    if (std::optional<TimedBaseline> each = timed(std::move(algorithm), machine, blocks, stop, model))
      baselines.push_back(*std::move(each));
  return baselines;
}

}  // namespace chorale
