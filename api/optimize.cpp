// Baselines are timed first and are then what the search begins with. While it goes on, a thread asks what
// was found so far and times it for each size; it waits four times as long as that took, so the search keeps
// four fifths of the processor.
#include "api/optimize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

#include "api/asked_groups.h"
#include "api/report.h"
#include "api/search.h"
#include "api/timed_stop.h"
#include "construct/classic.h"
#include "cost/busbw.h"
#include "cost/cost.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_writer.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "pages/size_figure.h"
#include "pareto/findings.h"
#include "topology/import/timing_log.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Sends of a baseline beyond which more chunks are not tried; and beyond which machines have none: where links
// differ each send is simulated, some two microseconds for each size.
constexpr long long kMostBaselineSends = 20'000, kMostSimulated = 300'000, kMostAlike = 5'000'000;

// A baseline by its chunk counts.
struct BaselineChunks {
  std::string name = {};
  std::vector<Point> points = {};         // one per chunk count
  std::vector<std::size_t> fastest = {};  // [size] -> the point
};

// Its own choice of a chunk count comes first, then powers of two: pipelines gain by more chunks.
BaselineChunks baseline_chunks(Method method, const Topology& topology, Rank root) {
  BaselineChunks algorithm{.name = name_of(method)};
  for (const int chunks : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    if (chunks > 1 && !algorithm.points.empty() &&
        2 * total_sends(algorithm.points.back().schedule) > kMostBaselineSends)
      break;
    std::optional<Point> point = classic_if_possible(method, topology, {.chunks = chunks, .root = root});
    if (point) algorithm.points.push_back(std::move(*point));
  }
  return algorithm;
}

// None for machines on which the algorithms that use all links are too large: a comparison with the others
// alone would flatter.
std::vector<BaselineChunks> algorithms_of(const Topology& topology, const Collective& collective,
                                          BaselineSet set) {
  constexpr long long kMostPerPair = 16;  // sends: two phases over eight rings
  const long long most = links_alike(topology) ? kMostAlike : kMostSimulated;
  if (kMostPerPair * topology.ranks * topology.ranks > most) return {};
  std::vector<BaselineChunks> nccl, all;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != collective.kind) continue;
    BaselineChunks algorithm = baseline_chunks(entry.method, topology, collective.root);
    if (algorithm.points.empty()) continue;
    if (entry.of_nccl) nccl.push_back(algorithm);
    all.push_back(std::move(algorithm));
  }
  return set == BaselineSet::Mpi || (set == BaselineSet::Auto && nccl.empty()) ? all : nccl;
}

// Leaves the points that are the fastest at some size.
Baseline timed(BaselineChunks& algorithm, const Topology& topology, const std::vector<std::int64_t>& blocks) {
  Baseline baseline{.name = algorithm.name};
  std::map<std::size_t, std::size_t> kept;  // by number before: after
  for (const std::int64_t bytes : blocks) {
    std::vector<double> us;
    for (const Point& point : algorithm.points)
      us.push_back(point_us(topology, point, static_cast<double>(bytes)));
    const auto least = std::ranges::min_element(us);
    algorithm.fastest.push_back(kept.try_emplace(least - us.begin(), kept.size()).first->second);
    baseline.us.push_back(*least);
  }
  std::vector<Point> points(kept.size());
  for (const auto& [before, after] : kept) points[after] = std::move(algorithm.points[before]);
  algorithm.points = std::move(points);
  return baseline;
}

// In a result, where the search may have dropped what it did not time.
void put(const Point& baseline, Result& result) {
  const auto same = [&](const Point& point) {
    return point.cost == baseline.cost && point.construction == baseline.construction;
  };
  if (std::ranges::any_of(result.points, same)) return;
  result.points.push_back(baseline);
  finish_result(result);
}

class Table {
 public:
  Table(Topology topology, const Collective& collective, const OptimizeQuestion& question)
      : topology_(std::move(topology)),
        messages_(question.message_bytes),
        measured_(question.measured),
        shape_(question.shape.value_or(MessageShape{.kind = collective.kind, .ranks = collective.ranks})),
        factor_(busbw_factor(shape_.kind, shape_.ranks)) {
    for (const std::int64_t bytes : messages_)
      blocks_.push_back(block_of_size(shape_.kind, shape_.ranks, bytes));
  }

  const Topology& topology() const { return topology_; }
  const std::vector<std::int64_t>& blocks() const { return blocks_; }

  void add(BaselineChunks algorithm) {
    baselines_.push_back(timed(algorithm, topology_, blocks_));
    algorithms_.push_back(std::move(algorithm));
  }
  std::vector<Point> baseline_points() const {
    std::vector<Point> points;
    for (const BaselineChunks& algorithm : algorithms_)
      points.insert(points.end(), algorithm.points.begin(), algorithm.points.end());
    return points;
  }

  // Once `stop` is true, what would have to be simulated for long is not timed: a baseline, which was timed
  // before, may be faster than what was, and is taken then.
  Optimized with(Result result, const std::atomic<bool>* stop) const {
    const std::vector<SizeRow> rows = best_by_size(result, blocks_, {}, stop);
    // First all baselines that are needed, since points may get other numbers with each.
    std::vector<std::pair<Cost, std::string>> found;
    for (const SizeRow& row : rows)
      found.emplace_back(result.points[row.point].cost, result.points[row.point].construction);
    Optimized answer{.shape = shape_, .sizes = messages_, .baselines = baselines_};
    std::size_t size = 0;
    for (const SizeRow& row : rows) {
      while (blocks_[size] != row.block_bytes) ++size;
      answer.rows.push_back(compared(row, size));
      OptimizedRow& made = answer.rows.back();
      if (!made.baseline.empty() && made.baseline_us < made.us) {
        const Point& baseline = fastest_baseline(size);
        // It may add in another order than was asked for.
        if (baseline.collective == with_chunks(result.collective, baseline.cost.chunks)) {
          put(baseline, result);
          found[&row - rows.data()] = {baseline.cost, baseline.construction};
          made.us = made.baseline_us;
        }
      }
      made.busbw_gbs = static_cast<double>(made.message_bytes) / made.us / 1e3 * factor_;
      ++size;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto point = std::ranges::find_if(result.points, [&](const Point& each) {
        return each.cost == found[i].first && each.construction == found[i].second;
      });
      answer.rows[i].point = static_cast<int>(point - result.points.begin());
      answer.rows[i].algorithm = origin(*point);
      answer.rows[i].steps = point->cost.steps;
    }
    answer.result = std::move(result);
    return answer;
  }

 private:
  std::size_t fastest_algorithm(std::size_t size) const {
    return std::ranges::min_element(baselines_, {}, [&](const Baseline& each) { return each.us[size]; }) -
           baselines_.begin();
  }
  const Point& fastest_baseline(std::size_t size) const {
    const BaselineChunks& algorithm = algorithms_[fastest_algorithm(size)];
    return algorithm.points[algorithm.fastest[size]];
  }
  OptimizedRow compared(const SizeRow& row, std::size_t size) const {
    OptimizedRow made{
        .message_bytes = messages_[size], .us = row.us, .bound_us = row.least_us, .at_most = row.at_most};
    const auto measured = std::ranges::find(measured_.message_bytes, made.message_bytes);
    if (measured != measured_.message_bytes.end())
      made.measured_us = measured_.us[measured - measured_.message_bytes.begin()];
    if (baselines_.empty()) return made;
    const Baseline& baseline = baselines_[fastest_algorithm(size)];
    made.baseline = baseline.name;
    made.baseline_us = baseline.us[size];
    return made;
  }

  const Topology topology_;
  const std::vector<std::int64_t> messages_;
  const MeasuredSizes measured_;
  const MessageShape shape_;
  const double factor_;
  std::vector<std::int64_t> blocks_ = {};
  std::vector<Baseline> baselines_ = {};
  std::vector<BaselineChunks> algorithms_ = {};
};

bool is_better(const Optimized& now, const Optimized& before) {
  if (now.rows.size() != before.rows.size()) return now.rows.size() > before.rows.size();
  for (std::size_t i = 0; i < now.rows.size(); ++i)
    if (now.rows[i].us < before.rows[i].us * (1 - 1e-4) ||
        now.rows[i].bound_us > before.rows[i].bound_us * (1 + 1e-4))
      return true;
  return false;
}

// Calls `improved` with what `found` returns whenever that is better than before, until it is stopped.
void report(const std::function<Optimized()>& found, const std::function<void(const Optimized&)>& improved,
            const std::stop_token& done) {
  using std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  Optimized last;
  for (steady_clock::duration pause = std::chrono::milliseconds(50);;) {
    changed.wait_for(lock, done, pause, [] { return false; });
    if (done.stop_requested()) return;
    const auto before = steady_clock::now();
    Optimized now = found();
    if (done.stop_requested()) return;
    if (is_better(now, last)) {
      improved(now);
      last = std::move(now);
    }
    pause =
        std::max<steady_clock::duration>(std::chrono::milliseconds(200), 4 * (steady_clock::now() - before));
  }
}

std::string percent_of(const OptimizedRow& row) {
  return fmt::format("{:.1f} %", 100 * row.bound_us / row.us);
}

}  // namespace

std::span<const Named<BaselineSet>> baseline_sets() {
  static constexpr Named<BaselineSet> kSets[] = {
      {BaselineSet::Auto, "auto"}, {BaselineSet::Nccl, "nccl"}, {BaselineSet::Mpi, "mpi"}};
  return kSets;
}

MessageShape shape_of(const std::string& name_or_file, const Topology& topology,
                      const CollectiveOptions& options) {
  if (names_a_file(name_or_file) || !options.counts.empty()) return {};
  const GroupQuestion asked = group_question(name_or_file, topology, options);
  std::size_t most = 1;
  for (const std::vector<Rank>& group : asked.groups) most = std::max(most, group.size());
  return {.kind = asked.kind, .ranks = static_cast<int>(most)};
}

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

Optimized optimize(const Topology& machine, const Collective& collective, const OptimizeQuestion& question) {
  if (question.message_bytes.empty()) throw InputError("sizes", "none is given", "give at least one");
  if (question.message_bytes.front() < 0 ||
      std::ranges::adjacent_find(question.message_bytes, std::greater_equal()) !=
          question.message_bytes.end())
    throw InputError("sizes", "do not rise from 0 bytes or more", "give each once, the smallest first");
  require_question(machine, collective);
  // Kept as long as a caller may ask what was found, which is longer than the search.
  const auto kept = std::make_shared<Table>(flatten(machine), collective, question);
  Table& table = *kept;
  const Topology& topology = table.topology();
  FrontierOptions search = question.search;
  const TimedStop end(search);
  const std::atomic<bool>* const stop = search.synthesis.limits.stop;
  search.time_limit = search.time_limit.count() < 0 ? search.time_limit : search.time_limit * 4 / 5;
  const TimedStop end_of_search(search);
  if (!question.uses_all_time) search.time_limit = std::chrono::milliseconds(-1);
  search.sizes = {table.blocks().begin(), table.blocks().end()};
  for (BaselineChunks& algorithm : algorithms_of(topology, collective, question.baselines))
    table.add(std::move(algorithm));
  search.known = table.baseline_points();
  std::jthread reporter;
  search.publish = [&, kept](const std::function<Result()>& result) {
    const auto found = [kept, result] {
      const std::atomic<bool> in_haste = true;  // long schedules are timed in the end only
      return kept->with(result(), &in_haste);
    };
    if (question.improved)
      reporter =
          std::jthread([&, found](const std::stop_token& done) { report(found, question.improved, done); });
    if (question.publish) question.publish(found);
  };
  Result result = frontier(topology, collective, search);
  reporter = {};
  end_of_search.tell_why(result);
  return table.with(std::move(result), stop);
}

std::string to_json(const Optimized& answer) {
  std::vector<std::string> rows, baselines;
  for (const OptimizedRow& row : answer.rows) rows.push_back(write_fields(row));
  for (const Baseline& baseline : answer.baselines)
    baselines.push_back(
        fmt::format("{{\"name\":{},\"us\":[{}]}}", quoted(baseline.name), fmt::join(baseline.us, ",")));
  return fmt::format(
      "{{\n\"chorale_optimize\": 1,\n\"topology\": {},\n\"collective\": {},\n\"kind\": {},\n\"ranks\": "
      "{},\n\"complete\": "
      "{},\n"
      "\"stopped\": {},\n\"conclusion\": {},\n\"rows\": {},\n\"baselines\": {}\n}}\n",
      quoted(answer.result.topology.name), quoted(name_of(answer.result.collective)),
      quoted(name_of(answer.shape.kind)), answer.shape.ranks, answer.result.complete,
      quoted(name_of(answer.result.stopped)), quoted(conclusion(answer)), lines(rows, ""),
      lines(baselines, ""));
}

namespace {

// Rows with one point, one after the other.
struct SizeRun {
  int point = 0;
  std::int64_t from = 0;  // bytes of messages
  std::int64_t to = 0;    // to this, not included; 0: however large
};

std::vector<SizeRun> runs_of(const std::vector<OptimizedRow>& rows) {
  std::vector<SizeRun> runs;
  for (const OptimizedRow& row : rows) {
    if (!runs.empty() && runs.back().point == row.point) continue;
    if (!runs.empty()) runs.back().to = row.message_bytes;
    runs.push_back({.point = row.point, .from = runs.empty() ? 0 : row.message_bytes});
  }
  return runs;
}

std::string range_of(const SizeRun& run) {
  const std::string from = format_bytes(static_cast<double>(run.from)),
                    to = format_bytes(static_cast<double>(run.to));
  if (run.to == 0) return run.from == 0 ? "all sizes" : "from " + from;
  return run.from == 0 ? "below " + to : from + " to below " + to;
}

// How a program is built and run, where the README can say so.
std::string commands_for(Target target, const std::string& path, int ranks) {
  switch (target) {
    case Target::Mpi:
      return fmt::format("mpicxx -O2 -std=c++17 {} -o x && mpirun -n {} ./x", path, ranks);
    case Target::Nccl:
      return fmt::format("nvcc -O2 -std=c++17 {} -lnccl -o x && ./x", path);
    case Target::Cuda:
      return fmt::format("make -C {}", path);
    default:
      return "";
  }
}

std::string readme_of(const Optimized& answer, const std::vector<std::pair<SizeRun, std::string>>& programs,
                      Target target) {
  const Result& result = answer.result;
  std::string text = fmt::format("# {} on {}\n\n{}.\n\n", name_of(result.collective), result.topology.name,
                                 conclusion(answer));
  text +=
      "- `index.html`: time and bus bandwidth over message size, the machine, the schedules step by step\n"
      "- `table.json`: the table\n"
      "- `result.json`: all schedules with their proofs: `chorale check result.json`, `chorale show "
      "result.json`\n\n"
      "## Programs\n\n| messages | file |\n|---|---|\n";
  for (const auto& [run, path] : programs) text += fmt::format("| {} | `{}` |\n", range_of(run), path);
  if (!programs.empty())
    if (const std::string commands = commands_for(target, programs.front().second, result.topology.ranks);
        !commands.empty())
      text += fmt::format("\nA program checks itself on data, and prints its time:\n\n```sh\n{}\n```\n",
                          commands);
  return text +
         fmt::format(
             "\n## Without changing a program\n\nThe preload library (in LIB, the folder of Chorale's "
             "libraries) performs the MPI collectives of any\nprogram by the algorithm that is the fastest "
             "for the size of each call:\n\n```sh\n"
             "mpirun -n {} -x CHORALE_ALGORITHMS=$PWD/result.json -x "
             "LD_PRELOAD=LIB/libchorale-mpi-preload.so YOUR_PROGRAM\n```\n",
             result.topology.ranks);
}

}  // namespace

OptimizedFiles files_of(const Optimized& answer, Target target) {
  const Result& result = answer.result;
  OptimizedFiles made{.files = {{"result.json", to_json(result)},
                                {"table.json", to_json(answer)},
                                {"index.html", to_page(answer)}}};
  std::vector<std::pair<SizeRun, std::string>> programs;
  std::set<std::string> written;
  const auto add = [&](const std::variant<Compiled, InputError>& compiled, const SizeRun& run) {
    if (const auto* const refused = std::get_if<InputError>(&compiled)) {
      made.notes.push_back(fmt::format("no program for messages {}: {}", range_of(run), refused->what()));
      return;
    }
    const Compiled& program = std::get<Compiled>(compiled);
    programs.emplace_back(run, program.path);
    if (!program.note.empty()) made.notes.push_back(program.note);
    if (written.insert(program.path).second)
      made.files.insert(made.files.end(), program.files.begin(), program.files.end());
  };
  const std::vector<SizeRun> runs = runs_of(answer.rows);
  if (target == Target::Mpi || target == Target::Nccl) {
    const auto& [kind, ranks] = answer.shape;
    std::vector<SizedPoint> points;
    for (const SizeRun& run : runs)
      points.push_back(
          {.point = &result.points[run.point],
           .up_to = run.to > 0 ? static_cast<double>(block_of_size(kind, ranks, run.to)) - 1 : HUGE_VAL});
    add(try_compile(result.topology, points, target, {}), {});
  } else {
    for (const SizeRun& run : runs) {
      const Point& point = result.points[run.point];
      CompileOptions options{
          .name = fmt::format("{}_{}", file_stem(result.topology, point.collective), run.point)};
      if (target == Target::MscclXml || target == Target::Mscclpp) {
        options.name += fmt::format("_from_{}", run.from);
        options.min_bytes = run.from;
        options.max_bytes = run.to > 0 ? run.to - 1 : 0;
      }
      add(try_compile(result.topology, point, target, options), run);
    }
  }
  made.files.push_back({"README.md", readme_of(answer, programs, target)});
  return made;
}

namespace {

SizeFigure figure_of(const Optimized& answer) {
  SizeFigure figure{.title = name_of(answer.result.collective) + " on " + answer.result.topology.name,
                    .bus_factor = busbw_factor(answer.shape.kind, answer.shape.ranks)};
  SizeCurve found{.name = "Chorale"}, bound{.kind = SizeCurve::Kind::Bound, .name = "bound"};
  for (const OptimizedRow& row : answer.rows) {
    figure.message_bytes.push_back(row.message_bytes);
    found.us.push_back(row.us);
    bound.us.push_back(row.bound_us);
  }
  figure.curves = {found};
  if (answer.rows.size() == answer.sizes.size())
    for (const Baseline& baseline : answer.baselines)
      figure.curves.push_back(
          {.kind = SizeCurve::Kind::Baseline, .name = baseline.name + " (baseline)", .us = baseline.us});
  SizeCurve measured{.kind = SizeCurve::Kind::Measured, .name = "measured"};
  for (const OptimizedRow& row : answer.rows) measured.us.push_back(row.measured_us);
  if (std::ranges::any_of(measured.us, [](double us) { return us > 0; })) figure.curves.push_back(measured);
  figure.curves.push_back(bound);
  return figure;
}

}  // namespace

std::string to_page(const Optimized& answer) {
  return to_page(answer.result, best_sizes(answer.result), figure_of(answer));
}

std::string to_svg(const Optimized& answer) {
  return size_figure_svg(figure_of(answer));
}

std::string conclusion(const Optimized& answer) {
  if (answer.rows.empty()) return "no schedule was found";
  const auto gain = [](const OptimizedRow& row) { return row.baseline_us / row.us; };
  std::string text;
  if (!answer.rows.front().baseline.empty()) {
    const auto [least, most] = std::ranges::minmax(answer.rows, {}, gain);
    std::vector<std::string> names;
    for (const Baseline& baseline : answer.baselines) names.push_back(baseline.name);
    text = fmt::format("{:.2f}x to {:.2f}x as fast as {}{}; ", gain(least), gain(most),
                       names.size() > 1 ? "the fastest of " : "", joined(names));
  }
  const OptimizedRow& largest = answer.rows.back();
  const OptimizedRow& worst = *std::ranges::min_element(
      answer.rows, {}, [](const OptimizedRow& row) { return row.bound_us / row.us; });
  text += fmt::format("{:.4g} GB/s of bus bandwidth at {}, {} of the bound", largest.busbw_gbs,
                      format_bytes(static_cast<double>(largest.message_bytes)), percent_of(largest));
  if (worst.bound_us < 0.9995 * worst.us && &worst != &largest)
    text += fmt::format("; farthest from it at {}: {}",
                        format_bytes(static_cast<double>(worst.message_bytes)), percent_of(worst));
  return text;
}

std::string measured_in_words(const Optimized& answer) {
  const OptimizedRow* last = nullptr;
  const OptimizedRow* faster = nullptr;  // from here on all that were measured
  for (const OptimizedRow& row : answer.rows) {
    if (row.measured_us == 0) continue;
    last = &row;
    if (row.us >= row.measured_us)
      faster = nullptr;
    else if (faster == nullptr)
      faster = &row;
  }
  if (last == nullptr) return "";
  const auto percent = [&](double us) { return fmt::format("{:.1f} %", 100 * us / last->measured_us); };
  std::string text =
      fmt::format("measured: {:.4g} GB/s of bus bandwidth at {}, {} of the bound",
                  last->busbw_gbs * last->us / last->measured_us,
                  format_bytes(static_cast<double>(last->message_bytes)), percent(last->bound_us));
  if (!last->baseline.empty()) text += fmt::format(", {} of {}", percent(last->baseline_us), last->baseline);
  return text + (faster == nullptr ? "; at that size nothing is gained"
                                   : fmt::format("; faster from {} on",
                                                 format_bytes(static_cast<double>(faster->message_bytes))));
}

}  // namespace chorale
