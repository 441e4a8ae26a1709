#include "pareto/search.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "pareto/chunk_search.h"
#include "pareto/explain.h"
#include "pareto/optimality.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

using Task = std::function<void()>;

// Runs the tasks in order on `jobs` threads; the first exception is thrown here.
void run_all(const std::vector<Task>& tasks, int jobs) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        tasks[i]();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks.size();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int j = 1; j < jobs; ++j) threads.emplace_back(work);
  work();
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

void require_sound(const Topology& topology, const Collective& asked, const Point& point) {
  std::vector<std::string> wrong = violations(topology, point.collective, point.schedule);
  if (wrong.empty()) wrong = differences(asked, point.collective);
  if (!wrong.empty()) throw std::logic_error("a composed schedule is wrong: " + wrong.front());
}

// ReduceScatter, then Allgather: chunk d*c+i is summed up at rank d and spread from there.
Point composed(const Point& scatter, const Point& gather, int ranks) {
  Point point{.method = "reduce_scatter+allgather",
              .collective = make_collective("allreduce", ranks, ranks * scatter.cost.chunks)};
  point.schedule = scatter.schedule;
  point.schedule.steps.insert(point.schedule.steps.end(), gather.schedule.steps.begin(),
                              gather.schedule.steps.end());
  point.cost = {.steps = scatter.cost.steps + gather.cost.steps,
                .rounds = scatter.cost.rounds + gather.cost.rounds,
                .chunks = ranks * scatter.cost.chunks};
  point.seconds = scatter.seconds + gather.seconds;
  return point;
}

Point gathered(const Point& gather, int ranks) {
  Point point = gather;
  point.method = "gather+local_reduce";
  point.collective = make_collective("allreduce_by_gather", ranks, gather.cost.chunks);
  return point;
}

// Only what no other point dominates; of equals the first.
void keep_undominated(std::vector<Point>& points) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    if (a.cost.steps != b.cost.steps) return a.cost.steps < b.cost.steps;
    const int rate = compare_rate(a.cost, b.cost);
    return rate != 0 ? rate < 0 : a.cost.chunks < b.cost.chunks;
  });
  std::vector<Point> kept;
  for (Point& point : points)
    if (kept.empty() || compare_rate(point.cost, kept.back().cost) < 0) kept.push_back(std::move(point));
  points = std::move(kept);
}

// The most rounds with C chunks that beat all points of at most these steps. One that gathers everything
// first is beaten by its equal: a direct schedule needs no memory for what it gathers.
std::optional<int> rounds_to_beat(const std::vector<Point>& undominated, int steps, int chunks) {
  std::optional<int> most;
  for (const Point& point : undominated)
    if (point.cost.steps <= steps) {
      const int equal = point.method == "gather+local_reduce" ? 0 : 1;
      most =
          static_cast<int>((static_cast<long long>(point.cost.rounds) * chunks - equal) / point.cost.chunks);
    }
  return most;
}

class FrontierSearch {
 public:
  FrontierSearch(const Topology& topology, const Collective& asked, const FrontierOptions& options)
      : topology_(topology), asked_(asked), options_(options), clock_(options_) {
    result_.topology = topology;
    result_.collective = asked;
    result_.min_chunks = options.min_chunks;
    result_.max_chunks = options.max_chunks;
    result_.extra_rounds = options.extra_rounds;
    if (options_.progress)
      options_.progress = [this, tell = options_.progress](const Progress& progress) {
        const std::lock_guard lock(mutex_);
        tell(progress);
      };
  }

  Result run() {
    if (asked_.name == "allreduce" && !asked_.custom)
      allreduce();
    else
      result_.points = all_chunk_counts(asked_.name);
    result_.stopped = clock_.why_stopped();
    if (undecided_ && result_.stopped.empty()) result_.stopped = "conflict limit";
    finish_result(result_);
    result_.seconds = clock_.seconds();
    return std::move(result_);
  }

 private:
  Collective with_chunks(const std::string& name, int chunks) const {
    return asked_.custom ? refined(asked_, chunks)
                         : make_collective(name, topology_.ranks, chunks, asked_.root);
  }

  // Searches name for every chunk count, side by side; claims are kept, the points returned.
  std::vector<Point> all_chunk_counts(const std::string& name, const std::vector<Point>* to_beat = nullptr) {
    const int counts = options_.max_chunks - options_.min_chunks + 1;
    std::vector<ChunkFrontier> parts(counts);
    std::vector<Task> tasks;
    for (int i = 0; i < counts; ++i)
      tasks.push_back([&, i] {
        const int chunks = options_.min_chunks + i;
        MostRounds most;
        if (to_beat != nullptr)
          most = [to_beat, chunks](int steps) { return rounds_to_beat(*to_beat, steps, chunks); };
        parts[i] = search_chunks(topology_, with_chunks(name, chunks), options_, clock_, most);
      });
    run_all(tasks, options_.jobs);
    std::vector<Point> points;
    for (ChunkFrontier& part : parts) {
      result_.claims.insert(result_.claims.end(), part.claims.begin(), part.claims.end());
      undecided_ = undecided_ || part.undecided;
      for (Point& point : part.points) points.push_back(std::move(point));
    }
    return points;
  }

  // The three families of pareto/optimality.h.
  void allreduce() {
    const std::vector<Point> scatters = all_chunk_counts("reducescatter");
    const std::vector<Point> gathers = all_chunk_counts("allgather");
    std::vector<Point>& points = result_.points;
    for (const Point& gather : gathers) {
      points.push_back(gathered(gather, topology_.ranks));
      for (const Point& scatter : scatters)
        if (scatter.cost.chunks == gather.cost.chunks)
          points.push_back(composed(scatter, gather, topology_.ranks));
    }
    if (options_.extra_rounds >= 0)
      std::erase_if(points,
                    [this](const Point& p) { return p.cost.rounds > p.cost.steps + options_.extra_rounds; });
    keep_undominated(points);
    const std::vector<Point> to_beat = points;
    std::vector<Point> direct = all_chunk_counts("allreduce", &to_beat);
    points.insert(points.begin(), std::make_move_iterator(direct.begin()),
                  std::make_move_iterator(direct.end()));
    keep_undominated(points);
  }

  const Topology& topology_;
  const Collective& asked_;
  FrontierOptions options_;
  SearchClock clock_;
  std::mutex mutex_;
  Result result_ = {};
  bool undecided_ = false;
};

}  // namespace

void finish_result(Result& result) {
  mark(result);
  result.complete = result.stopped.empty() && !result.points.empty();
  for (Point& point : result.points) {
    const Collective& asked = result.collective;
    require_sound(result.topology,
                  asked.custom ? refined(asked, point.cost.chunks)
                               : make_collective(asked.name, asked.ranks, point.cost.chunks, asked.root),
                  point);
    point.certificate = explain(result, point);
    result.complete = result.complete && point.proven;
  }
}

Result search_frontier(const Topology& topology, const Collective& one_chunk,
                       const FrontierOptions& options) {
  if (options.min_chunks < 1 || options.max_chunks < options.min_chunks)
    throw InputError("--max-chunks", "there is no chunk count from " + std::to_string(options.min_chunks) +
                                         " to " + std::to_string(options.max_chunks));
  return FrontierSearch(topology, one_chunk, options).run();
}

}  // namespace chorale
