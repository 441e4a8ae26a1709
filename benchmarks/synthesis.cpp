// What synthesis must show: the grid of known topologies and collectives proven, how much of the grid at 16
// ranks is within a minute a frontier, and ours against the published encodings on the same questions in one
// run. Prints tables; --json keeps them.
//
// Times are CPU seconds of the asking thread, which noise on a shared machine moves less than the wall clock;
// ratios are taken question by question and reported as geometric mean and median.
//
// The questions of the comparison are the corners of the frontiers: the best budgets, and those a round
// below, where the verdict changes. An engine that disagrees on one of them, with ours or with the grid,
// stops the measurement.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/search.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "pareto/instance_solver.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

using Json = nlohmann::ordered_json;

// Machines, chunk counts 1 to this, and how long a frontier may take.
struct Grid {
  std::string name = {};
  std::vector<std::string> topologies = {};
  int max_chunks = 1;
  std::chrono::seconds limit{-1};
};
const Grid kGrid = {
    "grid", {"dgx1", "dgx2", "amd-z52", "line:4", "ring:4", "ring:8", "full:8", "hypercube:3"}, 5};
const Grid kGrid16 = {
    "grid16", {"dgx2", "dgx-a100:2", "mesh:4x4", "torus:4x4", "hypercube:4"}, 3, std::chrono::seconds(60)};
const std::vector<std::string> kCollectives = {"broadcast", "scatter",       "gather",   "allgather",
                                               "alltoall",  "reducescatter", "allreduce"};

struct Options {
  std::vector<std::string> topologies = {};  // of the grid; empty: all of it
  std::vector<std::string> collectives = kCollectives;
  int max_chunks = 0;  // of the grid; 0: those it has
  double limit_seconds = 300;
  int jobs = 1;
  std::string results = {};  // directory for a result file a grid cell
  std::string json = {};
};

// One question put to every engine.
struct Question {
  std::string topology;
  std::string collective;
  int chunks;
  Budget budget;
  Verdict expected;
};

// Is any of the claims that prove the point a refutation by a solver, and not a bound?
bool needs_refutation(const Result& result, const Point& point) {
  const Reasons because = reasons(result, point);
  const auto refuted = [](const std::vector<const Claim*>& claims) {
    return std::any_of(claims.begin(), claims.end(), [](const Claim* claim) {
      return claim->certificate.kind == Certificate::Kind::Refutation;
    });
  };
  return refuted(because.rounds) || refuted(because.steps);
}

std::string rate(const std::optional<Rate>& rate) {
  return rate ? fmt::format("{}/{}", rate->rounds, rate->chunks) : "none";
}

// The grid: per topology, collective and chunk count the frontier, all of it proven, or what remains open.
// Returns the questions at its corners: each end of a frontier, and what lies just below it.
std::vector<Question> ask_grid(Grid grid, const Options& options, Json& out) {
  if (!options.topologies.empty()) grid.topologies = options.topologies;
  if (options.max_chunks > 0) grid.max_chunks = options.max_chunks;
  std::vector<Question> questions;
  const auto started = std::chrono::steady_clock::now();
  int points = 0, unproven = 0, by_bound = 0, refuted = 0, frontiers = 0, complete = 0;
  double slowest = 0;
  std::string slowest_name;
  fmt::print(
      "\n{}: frontier of each (steps,rounds,chunks); proven by bounds alone unless marked r (refutation){}\n",
      grid.name, grid.limit.count() > 0 ? fmt::format("; at most {} s a frontier", grid.limit.count()) : "");
  for (const std::string& topology_name : grid.topologies)
    for (const std::string& collective_name : options.collectives) {
      const Topology topology = machine(topology_name);
      std::string row, open;
      double row_seconds = 0;
      for (int chunks = 1; chunks <= grid.max_chunks; ++chunks) {
        const Result result = frontier(
            topology, collective(collective_name, topology),
            {.min_chunks = chunks, .max_chunks = chunks, .time_limit = grid.limit, .jobs = options.jobs});
        ++frontiers;
        complete += result.complete;
        if (!options.results.empty())
          write_file(fmt::format("{}/{}_{}_{}.json", options.results, topology_name, collective_name, chunks),
                     to_json(result));
        row_seconds += result.seconds;
        int refutations = 0;
        for (const Claim& claim : result.claims) {
          refutations += claim.certificate.kind == Certificate::Kind::Refutation;
          if (claim.seconds > slowest) {
            slowest = claim.seconds;
            slowest_name = fmt::format("a claim of {} {} {} chunks", topology_name, name_of(claim.collective),
                                       claim.chunks);
          }
        }
        refuted += refutations;
        for (const Point& point : result.points) {
          if (!point.on_frontier) continue;  // kept since it is the fastest at some size
          ++points;
          unproven += !point.proven;
          const bool refuted_below = needs_refutation(result, point);
          row += fmt::format(" ({},{},{}{}{})", point.cost.steps, point.cost.rounds, point.cost.chunks,
                             refuted_below ? " r" : "", point.proven ? "" : " UNPROVEN");
          by_bound += !refuted_below;
          if (point.seconds > slowest) {
            slowest = point.seconds;
            slowest_name = fmt::format("{} {} ({},{},{})", topology_name, collective_name, point.cost.steps,
                                       point.cost.rounds, point.cost.chunks);
          }
          // Only points that were found for the question itself, or to its dual.
          if (point.construction != name_of(Engine::Sat)) continue;
          questions.push_back({topology_name,
                               collective_name,
                               chunks,
                               {.steps = point.cost.steps, .rounds = point.cost.rounds},
                               Verdict::Sat});
          if (point.cost.rounds > 1)
            questions.push_back({topology_name,
                                 collective_name,
                                 chunks,
                                 {.steps = point.cost.steps, .rounds = point.cost.rounds - 1},
                                 Verdict::Unsat});
        }
        if (!result.complete) row += " INCOMPLETE";
        for (const Opening& opening : result.openings)
          open += fmt::format("  open: {} chunks, {} steps: {} rounds per chunk found, {} not excluded\n",
                              chunks, opening.steps, rate(opening.found), rate(opening.bound));
      }
      fmt::print("{:<12}{:<14}{:7.2f} s {}\n{}", topology_name, collective_name, row_seconds, row, open);
      std::fflush(stdout);
      out[grid.name].push_back({{"topology", topology_name},
                                {"collective", collective_name},
                                {"seconds", row_seconds},
                                {"points", row},
                                {"open", open}});
    }
  const double total = seconds_since(started);
  fmt::print(
      "{}: {} of {} frontiers complete; {} points, {} unproven; {} closed by bounds alone; {} checked "
      "refutations; {:.1f} s in all; slowest {:.2f} s: {}\n",
      grid.name, complete, frontiers, points, unproven, by_bound, refuted, total, slowest, slowest_name);
  out[grid.name + "_summary"] = {
      {"frontiers", frontiers}, {"complete", complete},       {"points", points},
      {"unproven", unproven},   {"by_bounds", by_bound},      {"refutations", refuted},
      {"seconds", total},       {"slowest_seconds", slowest}, {"slowest", slowest_name}};
  return questions;
}

// Ours against the engines of the literature on the same questions.
void compare(const Options& options, const std::vector<Question>& questions, Json& out) {
  const std::vector<std::pair<std::string, Engine>> others = {{"smt", Engine::Smt},
                                                              {"sat-partition", Engine::SatPartition}};
  std::map<std::string, std::vector<double>> ratios;
  std::map<std::string, int> timeouts;
  int ours_undecided = 0, asked = 0;
  const auto limit = std::chrono::milliseconds(static_cast<long>(options.limit_seconds * 1000));
  fmt::print("\nours against the published encodings, limit {} s, CPU seconds\n", options.limit_seconds);
  fmt::print("{:<12}{:<14}{:>2} {:>8} {:>6} {:>10} {:>10} {:>14}\n", "topology", "collective", "C", "(S,R)",
             "answer", "ours", "smt", "sat-partition");
  for (const Question& q : questions) {
    if (q.collective == "allreduce") continue;  // the baselines have it only as its two phases
    const Topology topology = machine(q.topology);
    const Collective collective = make_collective(q.collective, topology.ranks, q.chunks);
    const Answer ours = synthesize(topology, collective, q.budget, {.limits = {.time = limit}});
    if (ours.verdict == Verdict::Unknown) ++ours_undecided;
    if (ours.verdict != Verdict::Unknown && ours.verdict != q.expected)
      throw std::logic_error("the grid and a single question disagree");
    ++asked;
    Json row = {{"topology", q.topology},    {"collective", q.collective},
                {"chunks", q.chunks},        {"steps", q.budget.steps},
                {"rounds", q.budget.rounds}, {"answer", q.expected == Verdict::Sat ? "sat" : "unsat"},
                {"ours", ours.cpu_seconds}};
    std::vector<std::string> cells;
    for (const auto& [name, engine] : others) {
      const Answer other = synthesize(topology, collective, q.budget,
                                      {.engine = engine, .limits = {.time = limit}, .use_bounds = false});
      const bool timed_out = other.verdict == Verdict::Unknown;
      if (!timed_out && ours.verdict != Verdict::Unknown && other.verdict != ours.verdict)
        throw std::logic_error("engines disagree on " + q.topology + " " + q.collective);
      timeouts[name] += timed_out;
      // A time-out counts as the limit, which flatters the other engine.
      const double seconds = timed_out ? options.limit_seconds : other.cpu_seconds;
      ratios[name].push_back(seconds / std::max(ours.cpu_seconds, 1e-6));
      cells.push_back(timed_out ? ">" + fmt::format("{:.0f}", options.limit_seconds)
                                : fmt::format("{:.3f}", seconds));
      row[name] = timed_out ? Json("timeout") : Json(seconds);
    }
    fmt::print("{:<12}{:<14}{:>2} {:>8} {:>6} {:>10.4f} {:>10} {:>14}\n", q.topology, q.collective, q.chunks,
               fmt::format("({},{})", q.budget.steps, q.budget.rounds),
               q.expected == Verdict::Sat ? "sat" : "unsat", ours.cpu_seconds, cells[0], cells[1]);
    std::fflush(stdout);
    out["compare"].push_back(row);
  }
  for (const auto& [name, values] : ratios) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    fmt::print(
        "{} / ours over {} questions: geometric mean {:.1f}, median {:.1f}, from {:.2f} to {:.0f}; "
        "time-outs: {} {}, ours {}\n",
        name, asked, geometric_mean(values), median(values), *low, *high, name, timeouts[name],
        ours_undecided);
    out["compare_summary"][name] = {{"questions", asked},
                                    {"geometric_mean", geometric_mean(values)},
                                    {"median", median(values)},
                                    {"min", *low},
                                    {"max", *high},
                                    {"timeouts", timeouts[name]},
                                    {"ours_undecided", ours_undecided}};
  }
}

int run(int argc, char** argv) {
  Options options;
  bool only_grid = false, only_grid16 = false, only_compare = false;
  CommandLine line{"The claims about synthesis, measured. Without --grid, --grid16 or --compare: all three."};
  line.flag("--grid", only_grid, "the grid of topologies, collectives and chunk counts");
  line.flag("--grid16", only_grid16, "machines of 16 ranks, up to 3 chunks, 60 s a frontier");
  line.flag("--compare", only_compare,
            "ours against --engine smt and --engine sat-partition (asks the grid first)");
  line.list("--topology", options.topologies, "topologies of the grids");
  line.list("--collective", options.collectives, "collectives of the grids");
  line.positive("--max-chunks", options.max_chunks, "chunk counts 1 to this");
  line.positive("--limit", options.limit_seconds, "seconds for one question of --compare");
  line.positive("--jobs", options.jobs, "threads of one frontier search");
  line.existing_folder("--results", options.results,
                       "keep a result file for each cell of the grids in this directory");
  line.text("--json", options.json, "keep the figures in this file");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  const bool all = !only_grid && !only_grid16 && !only_compare;
  fmt::print("{}", machine_line());
  Json out;
  std::vector<Question> questions;
  if (all || only_grid || only_compare) questions = ask_grid(kGrid, options, out);
  if (all || only_grid16) ask_grid(kGrid16, options, out);
  if (all || only_compare) compare(options, questions, out);
  if (!options.json.empty()) write_file(options.json, out.dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("synthesis", chorale::run, argc, argv);
}
