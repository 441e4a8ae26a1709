// Whole machines, from 16 to 1,024 ranks: how near constructions come to what no schedule can beat, in how many steps, and what
// that costs. Each row in a process of its own, so that its memory is its own; everything is refereed.
#include "topology/machines.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "topology/switches.h"

namespace chorale {
namespace {

void connect(Topology& t, Node a, Node b, int bandwidth) {
  t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
  t.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
}

// Boxes of one kind side by side, each with some ranks on one NIC of so many units, all NICs on one switch.
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

// Names of machines that are no specs of `chorale topology list`.
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

double cpu_seconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

// One chunk count after the other, until one is at the bound or time is up; then what was best.
void measure(const std::string& name, const std::string& collective, const std::vector<int>& counts) {
  const Topology t = machine_called(name);
  std::optional<Rate> bound;
  std::vector<Point> points;
  double seconds = 0, best_seconds = 0;
  double best = 0;
  for (int chunks : counts) {
    const Collective c = make_collective(collective, t.ranks, chunks);
    const double before = cpu_seconds();
    if (!bound) bound = rate_shown(t, c, fewest_rounds(t, c).certificate);
    for (Point& point : grown_incumbents(t, c)) {
      const double rate = static_cast<double>(point.cost.chunks) / point.cost.rounds;
      if (rate > best) {
        best = rate;
        best_seconds = cpu_seconds() - before;
      }
      points.push_back(std::move(point));
    }
    seconds += cpu_seconds() - before;
  }
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const double rounds_a_chunk = static_cast<double>(bound->rounds) / static_cast<double>(bound->chunks);
  const Point* low = nullptr;
  for (const Point& point : points)
    if (static_cast<double>(point.cost.chunks) / point.cost.rounds >= 0.99 * best &&
        (low == nullptr || point.cost.steps < low->cost.steps))
      low = &point;
  if (low == nullptr) {
    fmt::print("{:<19} {:<13} {:>5} {:>11} nothing was constructed; {:.2f} s\n", name, collective, t.ranks,
               fmt::format("{}/{}", bound->rounds, bound->chunks), seconds);
    return;
  }
  fmt::print("{:<19} {:<13} {:>5} {:>11} {:>7.4f} {:>6} {:>6} {:>6} {:>5} {:>8.2f} {:>8.2f} {:>6}\n", name,
             collective, t.ranks, fmt::format("{}/{}", bound->rounds, bound->chunks),
             1 / (best * rounds_a_chunk), low->cost.chunks, low->cost.rounds, low->cost.steps, diameter(t),
             best_seconds, seconds, used.ru_maxrss / 1024);
}

// In a process of its own. What it throws is its own, too.
void measure_apart(const std::string& name, const std::string& collective, const std::vector<int>& counts,
                   int limit) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit));
    try {
      measure(name, collective, counts);
    } catch (const InputError& error) {
      fmt::print("{:<19} {:<13} {}\n", name, collective, error.what());
    }
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) fmt::print("{:<19} {:<13} nothing within {} s\n", name, collective, limit);
}

struct Row {
  std::string machine = {};
  std::vector<int> copies = {};  // chunk counts for Allgather and ReduceScatter
  std::vector<int> sums = {};    // for AllReduce
  std::vector<int> pairs = {};   // for Alltoall
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"dgx1", {1, 6}, {24, 96}, {1, 3}},
      {"ring:8", {2}, {16, 64}, {2}},
      {"ring:8 failed", {1}, {8, 64, 1024}, {1}},
      {"mi250-like", {5, 20, 100}, {10, 80, 2560}, {1, 5}},
      {"torus:4x4", {4}, {32, 128}, {1}},
      {"torus:4x4 failed", {1}, {31, 124, 1984}, {1, 7}},
      {"mesh:4x4", {2}, {8, 64, 2048}, {1}},
      {"hypercube:4", {4}, {32, 128}, {1}},
      {"hypercube:4 failed", {1}, {31, 124, 1984}, {1, 7}},
      {"dgx2", {1}, {16}, {1}},
      {"dgx1 x 2", {1, 4, 64}, {16, 1024}, {1}},
      {"dgx2 x 2", {1, 4, 64}, {32, 1024}, {1}},
      {"mi250-like x 2", {1, 4, 64}, {16, 1024}, {1}},
      {"dgx-a100:2", {13}, {208}, {1}},
      {"fat 16 x 4 at 2:1", {1, 2}, {16}, {1}},
      {"dgx1 x 4", {1, 4, 64}, {32, 1024}, {1}},
      {"dgx-a100:4", {8, 32}, {256}, {1}},
      {"dgx-a100:8", {8, 32}, {512}, {1}},
      {"fat 64 at 4:1", {1, 4}, {64}, {1}},
      {"torus:8x8", {4}, {64, 256}, {1}},
      {"mesh:8x8", {2}, {64, 128, 4096}, {1}},
      {"hypercube:6", {6}, {64, 128}, {1}},
      {"dgx-a100:16", {8}, {1024}, {1}},
      {"torus:16x16", {4}, {1024}, {1}},
      {"mesh:16x16", {2}, {512, 4096}, {1}},
      {"hypercube:8", {8}, {2048}, {1}},
      {"dgx-h100:2", {2, 10}, {160}, {1}},
      {"dgx-h100:4", {10}, {320}, {1}},
      {"fat-tree:8", {1}, {128}, {1}},
      {"dgx-h100:16", {8}, {1024}, {1}},
      {"dgx-a100:32", {4}, {1024}, {1}},
      {"dgx-a100:64", {2}, {1024}, {1}},
      {"torus:32x32", {4}, {4096}, {1}},
      {"hypercube:10", {10}, {10240}, {1}},
      {"dgx-a100:128", {1}, {1024}, {1}},
      {"dgx-h100:128", {1}, {1024}, {1}},
      {"leaf-spine:64x16x4", {1}, {1024}, {1}},
      {"mesh:32x32", {2}, {2048}, {1}},
  };
  return all;
}

int run(int argc, char** argv) {
  std::vector<std::string> machines, collectives = {"allgather", "reducescatter", "allreduce", "alltoall"};
  int limit = 300;
  int most_ranks = 2048;
  CLI::App app{"Whole machines: constructions against bounds"};
  app.add_option("--machines", machines, "Only these rows")->delimiter(',');
  app.add_option("--collectives", collectives, "Collectives")->delimiter(',');
  app.add_option("--limit", limit, "Seconds of a row (300)");
  app.add_option("--ranks", most_ranks, "Machines of at most so many ranks");
  CLI11_PARSE(app, argc, argv);
  fmt::print("{}", machine_line());
  fmt::print(
      "bound: rounds a chunk that no schedule is under; ratio: achieved over bound; chunks, rounds and "
      "steps: of the\n"
      "point with the fewest steps within 1 % of the best; CPU seconds: until the best, and of all chunk "
      "counts tried,\n"
      "with bounds and referee; peak MiB of the row's process\n\n");
  fmt::print("{:<19} {:<13} {:>5} {:>11} {:>7} {:>6} {:>6} {:>6} {:>5} {:>8} {:>8} {:>6}\n", "machine",
             "collective", "ranks", "bound", "ratio", "chunks", "rounds", "steps", "diam", "best s", "all s",
             "MiB");
  for (const Row& row : rows()) {
    if (!machines.empty() && std::ranges::find(machines, row.machine) == machines.end()) continue;
    if (machine_called(row.machine).ranks > most_ranks) continue;
    for (const std::string& collective : collectives) {
      const std::vector<int>& counts = collective == "allreduce"  ? row.sums
                                       : collective == "alltoall" ? row.pairs
                                                                  : row.copies;
      if (!counts.empty())
        measure_apart(row.machine, collective, counts, limit);
      else
        fmt::print("{:<19} {:<13} not measured\n", row.machine, collective);
    }
  }
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("machines", chorale::run, argc, argv);
}
