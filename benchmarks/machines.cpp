// Whole machines, from 8 to 1,024 ranks: how near default options come to what no schedule can beat, in how
// many steps, and what that costs. Each row in a process of its own, so that its memory is its own;
// everything is verified. With --exact: by how much lower exact synthesis comes than constructions on the
// same machines.
#include "topology/machines.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "api/search.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "bounds/check.h"
#include "construct/engine.h"
#include "pareto/optimality.h"
#include "topology/switches.h"

namespace chorale {
namespace {

void connect(Topology& t, Node a, Node b, int bandwidth) {
  t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
  t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
}

// Boxes of one kind side by side, each with some ranks on one NIC of `nic` units, all NICs on one switch.
Topology joined(const std::string& name, const Topology& box, int boxes, int nic) {
  Topology t{.name = name, .ranks = box.ranks * boxes, .switches = (box.switches + 1) * boxes + 1};
  const int core = t.ranks + t.switches - 1;
  for (int i = 0; i < boxes; ++i) {
    const int own = t.ranks + i * (box.switches + 1);  // switches of the box, and its NIC
    const auto node = [&](Node n) { return n < box.ranks ? i * box.ranks + n : own + n - box.ranks; };
    for (Link link : box.links) {
      link.src = node(link.src);
      link.dst = node(link.dst);
      t.links.push_back(link);
    }
    for (Rank n = 0; n < box.ranks; ++n) connect(t, node(n), own + box.switches, nic);
    connect(t, own + box.switches, core, nic);
  }
  return t;
}

// Hosts below leaves, one unit each; a trunk from each leaf to all others.
Topology fat_tree(int leaves, int hosts, int trunk) {
  Topology t{.name = "fat tree", .ranks = leaves * hosts, .switches = leaves + 1};
  for (Rank n = 0; n < t.ranks; ++n) connect(t, n, t.ranks + n / hosts, 1);
  for (int leaf = 0; leaf < leaves; ++leaf) connect(t, t.ranks + leaf, t.ranks + leaves, trunk);
  return t;
}

// Two rings of dies of unequal links, as measured by others on MI250 boxes: pairs of four units.
Topology mi250_like() {
  Topology t{.name = "mi250-like", .ranks = 8};
  const int links[][3] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {1, 2, 1}, {3, 4, 1},
                          {5, 6, 1}, {7, 0, 1}, {0, 4, 2}, {2, 6, 2}, {1, 5, 1}, {3, 7, 1}};
  for (const auto& [a, b, bandwidth] : links) connect(t, a, b, bandwidth);
  return t;
}

Topology without_link(Topology t, Rank a, Rank b) {
  std::erase_if(t.links, [&](const Link& link) {
    return (link.src == a && link.dst == b) || (link.src == b && link.dst == a);
  });
  return t;
}

// Names of machines that are not specs of `chorale topology list`.
Topology machine_called(const std::string& name) {
  const Topology dgx1 = load_topology("dgx1");
  if (name == "dgx1 x 2") return flatten(joined(name, dgx1, 2, 1));
  if (name == "dgx1 x 4") return flatten(joined(name, dgx1, 4, 1));
  if (name == "dgx2 x 2") {  // on the switch, whose ports are NICs of a sixth of a unit
    Topology box{.ranks = 16, .switches = 1};
    for (Rank n = 0; n < 16; ++n) connect(box, n, 16, 6);
    return flatten(joined(name, box, 2, 1));
  }
  if (name == "mi250-like") return mi250_like();
  if (name == "mi250-like x 2") return flatten(joined(name, mi250_like(), 2, 1));
  if (name == "fat 16 x 4 at 2:1") return flatten(fat_tree(4, 4, 2));
  if (name == "fat 64 at 4:1") return flatten(fat_tree(8, 8, 2));
  if (name == "torus:4x4 failed") return without_link(load_topology("torus:4x4"), 0, 1);
  if (name == "ring:8 failed") return without_link(load_topology("ring:8"), 0, 1);
  if (name == "hypercube:4 failed") return without_link(load_topology("hypercube:4"), 0, 1);
  return flatten(load_topology(name));
}

int diameter(const Topology& t) {
  int most = 0;
  for (Rank n = 0; n < t.ranks; ++n) most = std::max(most, std::ranges::max(hops(t, {n})));
  return most;
}

Result searched(const Topology& t, const std::string& collective, int seconds) {
  return frontier(t, make_collective(collective, t.ranks, 1), {.time_limit = std::chrono::seconds(seconds)});
}

double rate_of(const Cost& cost) {
  return static_cast<double>(cost.rounds) / cost.chunks;
}

void measure(const std::string& name, const std::string& collective, int seconds) {
  const Topology t = machine_called(name);
  const double before = cpu_seconds();
  const Result result = searched(t, collective, seconds);
  const double used_seconds = cpu_seconds() - before;
  const Rate bound = rate_bound(result);
  const std::string bound_text = fmt::format("{}/{}", bound.rounds, bound.chunks);
  const Point* best = nullptr;
  for (const Point& point : result.points)
    if (best == nullptr || compare_rate(point.cost, best->cost) < 0) best = &point;
  if (best == nullptr) {
    fmt::print("{:<19} {:<13} {:>5} {:>11} nothing was found; {:.2f} s\n", name, collective, t.ranks,
               bound_text, used_seconds);
    return;
  }
  const Point* low = best;
  for (const Point& point : result.points)
    if (rate_of(point.cost) <= 1.01 * rate_of(best->cost) && point.cost.steps < low->cost.steps) low = &point;
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  fmt::print("{:<19} {:<13} {:>5} {:>11} {:>7.4f} {:>6} {:>6} {:>6} {:>5} {:>8.2f} {:>8.2f} {:>6}  {}\n",
             name, collective, t.ranks, bound_text,
             rate_of(best->cost) * static_cast<double>(bound.chunks) / static_cast<double>(bound.rounds),
             low->cost.chunks, low->cost.rounds, low->cost.steps, diameter(t), best->seconds, used_seconds,
             used.ru_maxrss / 1024, best->construction);
}

// The fewest rounds per chunk at each number of steps, and their ratio to the lower bound there.
void measure_points(const std::string& name, const std::string& collective, int seconds) {
  const Topology t = machine_called(name);
  const double before = cpu_seconds();
  const Result result = searched(t, collective, seconds);
  fmt::print("{:<19} {:<13} {:>5} {:>8.2f}", name, collective, t.ranks, cpu_seconds() - before);
  for (const Point& point : result.points)
    if (point.on_frontier)
      fmt::print("  {}: {}/{} ({:.3f})", point.cost.steps, point.cost.rounds, point.cost.chunks,
                 1 + gap(point));
  fmt::print("\n");
}

// Points that exact synthesis has shown to be on the frontier of their chunk count, and what constructions
// have at their rounds per chunk.
struct Tally {
  int machines = 0;  // with such points
  int points = 0;
  int as_low = 0;  // constructed in as few steps
  int lower = 0;   // constructed in more steps
  int most = 0;    // steps by which
  int alone = 0;   // nothing was constructed with that few rounds per chunk
  int better = 0;  // machines on which that is the lowest rate of all
};

Tally operator+(const Tally& a, const Tally& b) {
  return {.machines = a.machines + b.machines,
          .points = a.points + b.points,
          .as_low = a.as_low + b.as_low,
          .lower = a.lower + b.lower,
          .most = std::max(a.most, b.most),
          .alone = a.alone + b.alone,
          .better = a.better + b.better};
}

struct Exactly {
  std::int64_t conflicts = 0;  // of a question
  int chunks = 1;              // each count up to this
  int seconds = 0;             // for each count
};

// The fewest steps of those that take no more rounds per chunk than `cost`.
std::optional<int> fewest_steps_at(const std::vector<Cost>& known, const Cost& cost) {
  std::optional<int> fewest;
  for (const Cost& one : known)
    if (compare_rate(one, cost) <= 0) fewest = std::min(fewest.value_or(one.steps), one.steps);
  return fewest;
}

std::vector<Cost> constructed(const Topology& t, const std::string& collective) {
  std::vector<Cost> costs;
  construct({.topology = t, .one = make_collective(collective, t.ranks, 1)},
            [&](const Point& point) { costs.push_back(point.cost); });
  return costs;
}

Tally measure_exactly(const std::string& name, const std::string& collective, const Exactly& exactly) {
  const Topology t = machine_called(name);
  const std::vector<Cost> known = constructed(t, collective);
  Tally tally;
  std::optional<Cost> lowest;
  for (int chunks = 1; chunks <= exactly.chunks; ++chunks) {
    FrontierOptions options{
        .min_chunks = chunks, .max_chunks = chunks, .time_limit = std::chrono::seconds(exactly.seconds)};
    options.synthesis.limits.conflicts = exactly.conflicts;
    const double before = cpu_seconds();
    const Result result = frontier(t, make_collective(collective, t.ranks, 1), options);
    std::string line;
    for (const Point& point : result.points) {
      if (!point.proven || !point.on_frontier) continue;
      const std::optional<int> steps = fewest_steps_at(known, point.cost);
      const int saved = steps.value_or(point.cost.steps) - point.cost.steps;
      ++tally.points;
      ++(!steps ? tally.alone : saved > 0 ? tally.lower : tally.as_low);
      tally.most = std::max(tally.most, saved);
      if (!lowest || compare_rate(point.cost, *lowest) < 0) lowest = point.cost;
      line += fmt::format("  {}/{} in {}{}", point.cost.rounds, point.cost.chunks, point.cost.steps,
                          !steps      ? " (-)"
                          : saved > 0 ? fmt::format(" ({})", *steps)
                                      : "");
    }
    fmt::print("{:<19} {:<13} {:>5} {:>6} {:>8.2f}  {:<8}{}\n", name, collective, t.ranks, chunks,
               cpu_seconds() - before, result.complete ? "ended" : "open", line);
  }
  tally.machines = tally.points > 0 ? 1 : 0;
  tally.better = lowest && !fewest_steps_at(known, *lowest) ? 1 : 0;
  return tally;
}

// In a process of its own. What it throws is its own, too.
template <typename Work>
Tally apart(const std::string& name, const std::string& collective, int limit, const Work& work) {
  std::fflush(stdout);
  int ends[2] = {};
  if (pipe(ends) != 0) throw InputError("machines", "there is no pipe to a row's process");
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit));
    try {
      const Tally tally = work();
      if (write(ends[1], &tally, sizeof tally) != sizeof tally) _exit(1);
    } catch (const InputError& error) {
      fmt::print("{:<19} {:<13} {}\n", name, collective, error.what());
    }
    std::fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  Tally tally;
  if (read(ends[0], &tally, sizeof tally) != sizeof tally) tally = {};
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) fmt::print("{:<19} {:<13} nothing within {} s\n", name, collective, limit);
  return tally;
}

std::vector<std::string> rows() {
  std::istringstream names(
      "dgx1;ring:8;ring:8 failed;mi250-like;torus:4x4;torus:4x4 failed;mesh:4x4;hypercube:4;"
      "hypercube:4 failed;dgx2;dgx1 x 2;dgx2 x 2;mi250-like x 2;dgx-a100:2;fat 16 x 4 at 2:1;"
      "dgx1 x 4;dgx-a100:4;dgx-a100:8;fat 64 at 4:1;torus:8x8;mesh:8x8;hypercube:6;"
      "dgx-a100:16;torus:16x16;mesh:16x16;hypercube:8;dgx-h100:2;dgx-h100:4;leaf-spine:4x4x2;"
      "fat-tree:8;dgx-h100:16;dgx-a100:32;dgx-a100:64;torus:32x32;hypercube:10;dgx-a100:128;"
      "dgx-h100:128;leaf-spine:64x16x4;mesh:32x32");
  std::vector<std::string> all;
  for (std::string name; std::getline(names, name, ';');) all.push_back(name);
  return all;
}

void print_heading(int seconds) {
  fmt::print(
      "default options and {} s: bound: rounds per chunk that no schedule is under; ratio: achieved over "
      "bound; chunks,\n"
      "rounds and steps: of the point with the fewest steps within 1 % of the best; best s: when its search "
      "found the\n"
      "best; CPU s: of all; peak MiB of the row's process; construction: of the best\n\n",
      seconds);
  fmt::print("{:<19} {:<13} {:>5} {:>11} {:>7} {:>6} {:>6} {:>6} {:>5} {:>8} {:>8} {:>6}  {}\n", "machine",
             "collective", "ranks", "bound", "ratio", "chunks", "rounds", "steps", "diam", "best s", "CPU s",
             "MiB", "construction");
}

void print_points_heading() {
  fmt::print("steps: rounds/chunks, and in brackets over the fewest that bounds leave to those steps\n\n");
  fmt::print("{:<19} {:<13} {:>5} {:>8}  points\n", "machine", "collective", "ranks", "CPU s");
}

void print_exact_heading(const Exactly& exactly) {
  fmt::print(
      "exact synthesis, {} conflicts a question and {} s a chunk count: proven points of its frontier as "
      "rounds/chunks in steps,\n"
      "and in brackets the steps in which as few rounds per chunk were constructed, if those are more; (-): "
      "never so few\n\n",
      exactly.conflicts, exactly.seconds);
  fmt::print("{:<19} {:<13} {:>5} {:>6} {:>8}  {:<8}  points\n", "machine", "collective", "ranks", "chunks",
             "CPU s", "search");
}

void print_tally(const Tally& tally) {
  fmt::print(
      "\n{} proven points on {} machines and collectives: {} constructed in as few steps, {} in more (at "
      "most {} more), {} not\nat their rounds per chunk; better in rate than anything constructed: {}\n",
      tally.points, tally.machines, tally.as_low, tally.lower, tally.most, tally.alone,
      tally.better == 0 ? "never" : fmt::format("on {}", tally.better));
}

int run(int argc, char** argv) {
  std::vector<std::string> machines, collectives = {"allgather", "reducescatter", "allreduce", "alltoall"};
  bool points = false;
  int limit = 300, seconds = 10;
  int most_ranks = 2048;
  Exactly exactly{.chunks = 2, .seconds = 10};
  CommandLine line{"Whole machines: constructions against bounds"};
  line.list("--machines", machines, "Only these rows");
  line.list("--collectives", collectives, "Collectives");
  line.number("--seconds", seconds, "Time limit of a search");
  line.number("--limit", limit, "Seconds after which a row is given up");
  line.number("--ranks", most_ranks, "Machines of at most so many ranks");
  line.flag("--points", points, "All points constructed, by steps");
  line.number("--exact", exactly.conflicts, "Constructions against exact synthesis of so many conflicts");
  line.number("--exact-chunks", exactly.chunks, "Chunk counts of it, from 1");
  line.number("--exact-seconds", exactly.seconds, "Seconds of it for a chunk count");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  fmt::print("{}", machine_line());
  if (exactly.conflicts > 0)
    print_exact_heading(exactly);
  else if (points)
    print_points_heading();
  else
    print_heading(seconds);
  Tally all;
  for (const std::string& machine : rows()) {
    if (!machines.empty() && std::ranges::find(machines, machine) == machines.end()) continue;
    if (machine_called(machine).ranks > most_ranks) continue;
    for (const std::string& collective : collectives)
      all = all + apart(machine, collective, limit, [&] {
              if (exactly.conflicts > 0) return measure_exactly(machine, collective, exactly);
              if (points)
                measure_points(machine, collective, seconds);
              else
                measure(machine, collective, seconds);
              return Tally{};
            });
  }
  if (exactly.conflicts > 0) print_tally(all);
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("machines", chorale::run, argc, argv);
}
