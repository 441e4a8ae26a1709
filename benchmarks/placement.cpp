// What placement must show: the program counts of P^2 (Xie et al. 2022), engines that agree, its measured
// tables beside our simulated times, and how long a full ranking takes as machines grow.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/place.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "ir/error.h"
#include "placement/engines.h"
#include "placement/matrices.h"
#include "placement/place.h"
#include "placement/synthesis_hierarchy.h"

namespace chorale {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<Axis> axes_of(const std::vector<int>& sizes) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) axes.push_back({fmt::format("axis{}", i), sizes[i]});
  return axes;
}

// --- program counts

// All ordered factorizations of n into `factors` factors, each at least 2.
void factorings(int n, int factors, std::vector<int>& so_far, std::vector<std::vector<int>>& found) {
  if (factors == 1) {
    if (n < 2) return;
    so_far.push_back(n);
    found.push_back(so_far);
    so_far.pop_back();
    return;
  }
  for (int f = 2; f <= n; ++f) {
    if (n % f != 0) continue;
    so_far.push_back(f);
    factorings(n / f, factors - 1, so_far, found);
    so_far.pop_back();
  }
}

// Levels of the hierarchy over which the reduction's strategies are written, without its root. How many
// programs there are depends on nothing else, which is the rule that the counts are compared with: 3 for one
// level, 47 for two.
int nontrivial_levels(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                      const ParallelismMatrix& matrix, const std::vector<int>& reduced) {
  return static_cast<int>(
             synthesis_hierarchy(hierarchy, axes, matrix, reduced, SynthesisKind::Collapsed).levels.size()) -
         1;
}

struct Count {
  int matrices = 0;
  long long programs = 0;
  bool same_matrices = false;  // by SAT
  double seconds = 0;          // of everything: matrices, and every program written out
};

// Every program of at most five instructions for every matrix, by the paper's rules.
Count count(const Hierarchy& hierarchy, const std::vector<int>& sizes, const std::vector<int>& reduced) {
  const auto started = Clock::now();
  const std::vector<Axis> axes = axes_of(sizes);
  const std::vector<ParallelismMatrix> matrices = all_matrices(hierarchy, axes);
  Count result{.matrices = static_cast<int>(matrices.size())};
  for (const ParallelismMatrix& matrix : matrices) {
    const int levels = nontrivial_levels(hierarchy, axes, matrix, reduced);
    if (levels > 0)
      result.programs +=
          static_cast<long long>(all_strategies(*StrategySpace::of(levels), Rules::Paper, 5).size());
  }
  result.seconds = seconds_since(started);
  const SolvedMatrices solved = solve_matrices(hierarchy, axes, {}, *make_solver());
  result.same_matrices = solved.matrices == matrices && solved.complete;
  return result;
}

// Which of 3 and 47 make up the total.
long long by_rule(const Hierarchy& hierarchy, const std::vector<int>& sizes,
                  const std::vector<int>& reduced) {
  long long total = 0;
  for (const ParallelismMatrix& matrix : all_matrices(hierarchy, axes_of(sizes))) {
    const int levels = nontrivial_levels(hierarchy, axes_of(sizes), matrix, reduced);
    total += levels == 1 ? 3 : levels == 2 ? 47 : 0;
  }
  return total;
}

bool counts() {
  for (int levels = 1; levels <= StrategySpace::kMostLevels; ++levels) {
    const auto started = Clock::now();
    const auto space = StrategySpace::of(levels);
    std::size_t edges = 0;
    for (int state = 0; state < space->states(); ++state) edges += space->edges(state).size();
    fmt::print(
        "space of {} levels: {} states, {} edges, {} different charges, longest strategy {}; {:.1f} ms\n",
        levels, space->states(), edges, space->charges().size(), space->longest(),
        1e3 * seconds_since(started));
  }
  fmt::print(
      "\nprograms of at most five instructions, all matrices of a configuration; one level 3, two levels "
      "47\n");
  fmt::print("{:<8} {:<12} {:<8} {:>8} {:>9} {:>8} {:>9}  {}\n", "system", "axes", "reduced", "matrices",
             "programs", "by rule", "ms", "matrices by SAT");
  bool right = true;
  double slowest = 0;
  for (const char* spec : {"a100:2", "a100:4", "v100:2", "v100:4"}) {
    const Hierarchy hierarchy = chorale::hierarchy(spec);
    const int all = static_cast<int>(devices(hierarchy));
    std::vector<std::vector<int>> configurations;
    for (int axes = 1; axes <= 3; ++axes) {
      std::vector<int> none;
      factorings(all, axes, none, configurations);
    }
    for (const std::vector<int>& sizes : configurations) {
      std::vector<std::vector<int>> reductions = {{0}};
      if (sizes.size() == 2) reductions.push_back({1});
      if (sizes.size() == 3) reductions = {{0, 2}};
      for (const std::vector<int>& reduced : reductions) {
        const Count c = count(hierarchy, sizes, reduced);
        const long long expected = by_rule(hierarchy, sizes, reduced);
        right = right && c.programs == expected && c.same_matrices;
        slowest = std::max(slowest, c.seconds);
        fmt::print("{:<8} {:<12} {:<8} {:>8} {:>9} {:>8} {:>9.2f}  {}\n", spec,
                   fmt::format("[{}]", fmt::join(sizes, " ")), fmt::format("{}", fmt::join(reduced, " ")),
                   c.matrices, c.programs, expected, 1e3 * c.seconds,
                   c.same_matrices ? "the same" : "DIFFERENT");
      }
    }
  }
  fmt::print("counts: {}; slowest configuration {:.2f} ms\n", right ? "all as the rule says" : "WRONG",
             1e3 * slowest);
  return right;
}

// --- engines

// One question: all strategies of at most so many instructions, as --engine lists them.
bool engines() {
  struct Case {
    int levels;
    Rules rules;
    int most;
    bool smt;  // ask Z3 as well
  };
  fmt::print(
      "\nengines: strategies; CPU seconds (times those of enumeration), calls and conflicts of the solver\n"
      "{:<7} {:<6} {:>6} {:>11} {:>11}  {:<42} {:<42} {}\n",
      "levels", "rules", "up to", "strategies", "enumerate", "sat (CaDiCaL)", "smt (Z3)",
      "nothing longer (refuted)");
  bool same = true;
  for (const Case& c :
       {Case{1, Rules::Paper, 5, true}, Case{1, Rules::Full, 5, true}, Case{2, Rules::Paper, 5, true},
        Case{2, Rules::Full, 5, true}, Case{3, Rules::Paper, 3, false}, Case{3, Rules::Paper, 5, false},
        Case{3, Rules::Full, 4, false}}) {
    double started = cpu_seconds();
    const std::vector<Strategy> explored = all_strategies(*StrategySpace::of(c.levels), c.rules, c.most);
    const double enumerated = cpu_seconds() - started;
    std::vector<std::string> cells;
    bool refuted = false;
    for (PlaceEngine engine : {PlaceEngine::Sat, PlaceEngine::Smt}) {
      if (engine == PlaceEngine::Smt && !c.smt) {
        cells.push_back("not asked");
        continue;
      }
      started = cpu_seconds();
      const StrategySet found = find_strategies(c.levels, c.rules, c.most, engine);
      const double seconds = cpu_seconds() - started;
      same = same && found.complete && found.strategies == explored;
      refuted = refuted || found.nothing_longer;
      cells.push_back(fmt::format("{:.2f} ({:.0f}x), {} calls, {} conflicts", seconds, seconds / enumerated,
                                  found.calls, found.conflicts));
    }
    fmt::print("{:<7} {:<6} {:>6} {:>11} {:>11.4f}  {:<42} {:<42} {}\n", c.levels,
               c.rules == Rules::Paper ? "paper" : "full", c.most, explored.size(), enumerated, cells[0],
               cells[1], refuted ? "yes" : "no");
    std::fflush(stdout);
  }
  fmt::print("engines: {}\n", same ? "the same strategies everywhere" : "DIFFERENT");
  return same;
}

// --- the paper's tables

// Seconds for ten runs, as printed in tables 3 and 4.
struct Measurement {
  const char* id;
  const char* system;
  std::vector<int> axes;
  std::vector<std::vector<int>> matrix;
  std::vector<int> reduced;
  Algorithm algorithm;
  double allreduce;
  double best;  // 0: not given
};

std::vector<Measurement> table3() {
  struct Row {
    const char* id;
    const char* system;
    std::vector<int> axes;
    std::vector<std::vector<int>> matrix;
    double seconds[4];  // reducing axis 0 by ring, by tree, axis 1 by ring, by tree
  };
  const std::vector<Row> rows = {{"A1", "a100:4", {2, 32}, {{1, 2}, {4, 8}}, {0.12, 0.17, 8.74, 9.89}},
                                 {"A2", "a100:4", {2, 32}, {{2, 1}, {2, 16}}, {37.16, 36.94, 4.81, 3.41}},
                                 {"B1", "a100:4", {4, 16}, {{1, 4}, {4, 4}}, {0.15, 0.20, 17.70, 19.03}},
                                 {"B2", "a100:4", {4, 16}, {{2, 2}, {2, 8}}, {28.77, 19.81, 8.39, 4.99}},
                                 {"B3", "a100:4", {4, 16}, {{4, 1}, {1, 16}}, {56.13, 89.70, 0.18, 0.22}},
                                 {"C1", "a100:4", {8, 8}, {{1, 8}, {4, 2}}, {0.17, 0.21, 33.92, 41.06}},
                                 {"C2", "a100:4", {8, 8}, {{2, 4}, {2, 4}}, {16.52, 9.18, 15.68, 9.43}},
                                 {"C3", "a100:4", {8, 8}, {{4, 2}, {1, 8}}, {34.05, 41.23, 0.17, 0.21}},
                                 {"E1", "v100:4", {8, 4}, {{1, 8}, {4, 1}}, {0.28, 0.39, 21.74, 30.42}},
                                 {"E2", "v100:4", {8, 4}, {{2, 4}, {2, 2}}, {14.25, 15.48, 10.98, 7.34}},
                                 {"E3", "v100:4", {8, 4}, {{4, 2}, {1, 4}}, {14.84, 19.90, 2.96, 0.43}}};
  std::vector<Measurement> result;
  for (const Row& row : rows)
    for (int i = 0; i < 4; ++i)
      result.push_back({row.id,
                        row.system,
                        row.axes,
                        row.matrix,
                        {i / 2},
                        i % 2 == 0 ? Algorithm::Ring : Algorithm::Tree,
                        row.seconds[i],
                        0});
  return result;
}

std::vector<Measurement> table4() {
  constexpr Algorithm ring = Algorithm::Ring, tree = Algorithm::Tree;
  return {{"F1", "a100:2", {8, 4}, {{1, 8}, {2, 2}}, {0}, ring, 0.17, 0.17},
          {"F2", "a100:2", {8, 4}, {{2, 4}, {1, 4}}, {0}, ring, 16.84, 9.19},
          {"G1", "a100:4", {4, 16}, {{1, 4}, {4, 4}}, {0}, tree, 0.20, 0.17},
          {"G2", "a100:4", {4, 16}, {{4, 1}, {1, 16}}, {0}, tree, 89.70, 56.13},
          // The paper prints [2 2] as H1's middle row, which is not a factoring of its axis of 2.
          {"H1", "a100:4", {16, 2, 2}, {{1, 16}, {2, 1}, {2, 1}}, {0, 2}, ring, 4.79, 4.63},
          {"H2", "a100:4", {16, 2, 2}, {{2, 8}, {2, 1}, {1, 2}}, {0, 2}, ring, 4.91, 3.10},
          {"I1", "a100:4", {2, 2, 16}, {{2, 1}, {2, 1}, {1, 16}}, {0, 2}, ring, 4.82, 2.99},
          {"I2", "a100:4", {2, 2, 16}, {{1, 2}, {2, 1}, {2, 8}}, {0, 2}, ring, 5.28, 4.77},
          {"J1", "a100:4", {64}, {{4, 16}}, {0}, tree, 5.75, 4.74},
          {"K1", "v100:4", {8, 2, 2}, {{2, 4}, {2, 1}, {1, 2}}, {0, 2}, ring, 4.80, 2.35},
          {"K2", "v100:4", {8, 2, 2}, {{1, 8}, {2, 1}, {2, 1}}, {0, 2}, ring, 4.40, 4.40},
          {"L1", "v100:4", {32}, {{4, 8}}, {0}, ring, 4.83, 3.45}};
}

// Where each value comes in order, from 0; equal ones share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) result[order[k]] = (static_cast<double>(i + end) - 1) / 2;
    i = end;
  }
  return result;
}

// The correlation of ranks: do our times order the rows as the measured ones do? It does not depend on a
// factor between them.
double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double n = static_cast<double>(x.size()), mean = (n - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

void tables() {
  // The paper's own size and number of runs, so that figures stand side by side.
  constexpr double kBytes = 4.0 * (1 << 29), kRuns = 10;
  fmt::print(
      "\ntables 3 and 4: seconds of ten runs of 2^29 float32 a GPU, measured by the paper and simulated by "
      "us\n");
  fmt::print(
      "assumed, as the paper states them: 8 GB/s a NIC, 32 GB/s an A100's PCIe switch, 270 an NVSwitch port, "
      "67.5 a V100's NVLinks to either neighbour;\nas NCCL takes them: 12 GB/s each way between the four "
      "V100 of a CPU and its memory, 10 between CPUs; no rate is fitted\n");
  fmt::print("{:<4} {:<8} {:<26} {:<4} {:<5} {:>9} {:>9} {:>6} | {:>9} {:>9} {:>6}\n", "row", "system",
             "matrix", "axes", "algo", "AllReduce", "ours", "ratio", "best", "ours", "ratio");
  struct Pairs {
    std::vector<double> measured = {}, simulated = {};
  };
  std::map<std::string, Pairs> by_kind;
  std::vector<Measurement> all = table3();
  for (const Measurement& m : table4()) all.push_back(m);
  for (const Measurement& m : all) {
    const Hierarchy hierarchy = chorale::hierarchy(m.system);
    const Job job{.axes = axes_of(m.axes), .reductions = {{.axes = m.reduced, .bytes = kBytes}}};
    const ReductionRanking ranking = rank_strategies(hierarchy, job, 0, {.factors = m.matrix},
                                                     {.algorithm = m.algorithm, .rules = Rules::Paper});
    const double allreduce = ranking.allreduce_us * 1e-6 * kRuns,
                 best = ranking.strategies.front().us * 1e-6 * kRuns;
    const char* algorithm = m.algorithm == Algorithm::Ring ? "ring" : "tree";
    const std::string system = std::string(m.system).substr(0, 4);
    fmt::print("{:<4} {:<8} {:<26} {:<4} {:<5} {:>9.2f} {:>9.2f} {:>6.2f}", m.id, m.system,
               to_text(ParallelismMatrix{.factors = m.matrix}), fmt::format("{}", fmt::join(m.reduced, " ")),
               algorithm, m.allreduce, allreduce, allreduce / m.allreduce);
    const auto keep = [&](const std::string& what, double measured, double simulated) {
      for (const std::string& kind :
           {fmt::format("{} {} {}", system, algorithm, what), fmt::format("all {}", what)}) {
        by_kind[kind].measured.push_back(measured);
        by_kind[kind].simulated.push_back(simulated);
      }
    };
    keep("AllReduce", m.allreduce, allreduce);
    if (m.best > 0) {
      keep("best", m.best, best);
      fmt::print(" | {:>9.2f} {:>9.2f} {:>6.2f}", m.best, best, best / m.best);
    }
    fmt::print("\n");
  }
  // The evidence for one uplink per CPU: cases where no two GPUs of a ring are neighbours.
  fmt::print("\nwere there an uplink for each pair of V100:");
  for (const Measurement& m : table3()) {
    if (std::string(m.id) != "E2" || m.reduced != std::vector<int>{0}) continue;
    Hierarchy pairs = chorale::hierarchy(m.system);
    pairs.levels.back().link.host->uplink.children = 2;
    const Job job{.axes = axes_of(m.axes), .reductions = {{.axes = m.reduced, .bytes = kBytes}}};
    const double us =
        rank_strategies(pairs, job, 0, {.factors = m.matrix}, {.algorithm = m.algorithm}).allreduce_us;
    fmt::print(" {} by {} {:.2f} s for {:.2f} measured;", m.id,
               m.algorithm == Algorithm::Ring ? "ring" : "tree", us * 1e-6 * kRuns, m.allreduce);
  }
  fmt::print("\n");
  fmt::print("\n{:<22} {:>5} {:>10} {:>23}\n", "", "rows", "Spearman", "median relative error");
  for (const auto& [kind, pairs] : by_kind) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < pairs.measured.size(); ++i)
      errors.push_back(std::abs(pairs.simulated[i] / pairs.measured[i] - 1));
    fmt::print("{:<22} {:>5} {:>10} {:>22.0f}%\n", kind, errors.size(),
               errors.size() < 3 ? "-" : fmt::format("{:.3f}", spearman(pairs.measured, pairs.simulated)),
               100 * median(errors));
  }
}

// --- time against size

// Buildings of such pods as the catalogue has, with a quarter of their uplinks: 8 x 16 x 16 x 64 x 8.
Hierarchy five_levels() {
  Hierarchy machine = chorale::hierarchy("pods:16x16x64");
  Level building = machine.levels.front();
  building.name = "building";
  building.fan_out = 8;
  building.link.ports = std::max(1, machine.levels.front().link.ports * 16 / 4);
  machine.levels.insert(machine.levels.begin(), building);
  ++machine.node_level;
  machine.name = "five levels";
  return machine;
}

void scale(int repetitions) {
  struct Case {
    const char* hierarchy;
    std::vector<int> axes;
    std::vector<int> reduced;
  };
  fmt::print(
      "\nscale: full top-10 ranking; the first run also explores the strategy spaces it needs, once a "
      "process\n");
  fmt::print("{:>8} {:<14} {:>6} {:<14} {:<8} {:>8} {:>10} {:>22} {:>10}\n", "devices", "hierarchy", "levels",
             "axes", "reduced", "matrices", "first (ms)", "then, median (spread)", "peak (MiB)");
  for (const Case& c : std::vector<Case>{{"a100:2", {8, 4}, {0}},
                                         {"a100:4", {8, 8}, {0}},
                                         {"a100:4", {4, 4, 4}, {0, 2}},
                                         {"v100:4", {8, 2, 2}, {0, 2}},
                                         {"h100:128", {8, 16, 8}, {2}},
                                         {"pods:1x8x16", {8, 16, 8}, {0}},
                                         {"pods:4x4x8", {8, 16, 8}, {2}},
                                         {"h100:2048", {64, 16, 16}, {0}},
                                         {"pods:1x64x32", {64, 16, 16}, {0}},
                                         {"pods:16x8x16", {64, 16, 16}, {0}},
                                         {"pods:16x64x16", {128, 32, 32}, {0}},
                                         {"pods:16x64x16", {128, 32, 32}, {0, 2}},
                                         {"five levels", {16384, 64}, {0}}}) {
    const Hierarchy hierarchy =
        c.hierarchy == std::string("five levels") ? five_levels() : chorale::hierarchy(c.hierarchy);
    const Job job{.axes = axes_of(c.axes), .reductions = {{.axes = c.reduced, .bytes = 1e9}}};
    const int levels = static_cast<int>(std::count_if(hierarchy.levels.begin(), hierarchy.levels.end(),
                                                      [](const Level& level) { return level.fan_out > 1; }));
    const double first = place(hierarchy, job).seconds;
    std::vector<double> times;
    int matrices = 0;
    for (int i = 0; i < repetitions; ++i) {
      const Ranking ranking = place(hierarchy, job);
      matrices = ranking.matrices;
      times.push_back(1e3 * ranking.seconds);
    }
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print(
        "{:>8} {:<14} {:>6} {:<14} {:<8} {:>8} {:>10.1f} {:>22} {:>10.0f}\n", devices(hierarchy), c.hierarchy,
        levels, fmt::format("[{}]", fmt::join(c.axes, " ")), fmt::format("{}", fmt::join(c.reduced, " ")),
        matrices, 1e3 * first,
        fmt::format("{:.1f} ({:.1f}-{:.1f})", median(times), *std::min_element(times.begin(), times.end()),
                    *std::max_element(times.begin(), times.end())),
        static_cast<double>(usage.ru_maxrss) / 1024);
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  bool only_counts = false, only_engines = false, only_tables = false, only_scale = false;
  int repetitions = 5;
  CommandLine line{"The claims about placement, measured. Without a choice: all of them."};
  line.flag("--counts", only_counts, "program counts and matrices of the paper's configurations");
  line.flag("--engines", only_engines, "exploration, CaDiCaL and Z3 on the same questions");
  line.flag("--tables", only_tables, "the paper's tables 3 and 4 beside our simulated times");
  line.flag("--scale", only_scale, "time and memory of a full ranking, 32 to 1,048,576 devices");
  line.positive("--repetitions", repetitions, "rankings timed for each line of --scale");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  const bool all = !only_counts && !only_engines && !only_tables && !only_scale;
  fmt::print("{}", machine_line());
  bool right = true;
  if (all || only_counts) right = counts() && right;
  if (all || only_tables) tables();
  if (all || only_scale) scale(repetitions);
  if (all || only_engines) right = engines() && right;
  return right ? 0 : 1;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("placement", chorale::run, argc, argv);
}
