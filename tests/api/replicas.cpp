// Do all ranks end with the same bits, on machines without names? For each of COUNT random machines of 2 to
// 16 ranks, and for small ones that have names, every point of an AllReduce's frontier (and of a custom sum
// with some destinations) is run on normal floats of mixed magnitude, on threads and by the GPU's kernel on
// threads, in place and not, and the ranks' results are compared bit by bit; and on exact data, which reports
// that they are right.
//
//   replicas COUNT SEED [--named]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/run.h"
#include "api/search.h"
#include "ir/json.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

struct Counts {
  long machines = 0, points = 0, rows = 0, wrong = 0, disagreeing = 0;
};

// Some ranks contribute, some want the sum.
Collective custom_sum(int ranks, std::mt19937& random) {
  Collective c = make_collective("allreduce", ranks, 1);
  c.kind = CollectiveKind::Custom;
  c.custom_name = "some-sums";
  std::vector<Rank> pre, post;
  for (Rank n = 0; n < ranks; ++n) {
    if (test::below(random, 4) > 0) pre.push_back(n);
    if (test::below(random, 3) > 0) post.push_back(n);
  }
  c.chunks[0].pre = pre.empty() ? RankSet{0} : RankSet(pre);
  c.chunks[0].post = post.empty() ? RankSet{ranks - 1} : RankSet(post);
  return c;
}

void count_differences(const Topology& topology, const Collective& collective, int max_chunks, Counts& counts,
                       int extra_rounds = kAnyRounds) {
  FrontierOptions options{
      .max_chunks = max_chunks, .extra_rounds = extra_rounds, .time_limit = std::chrono::seconds(2)};
  options.synthesis.limits.conflicts = 200;
  const Result result = frontier(topology, collective, options);
  for (const Point& point : result.points) {
    ++counts.points;
    for (const Executor executor : {Executor::Threads, Executor::Kernel})
      for (const bool in_place : {false, true}) {
        if (in_place && is_custom(point.collective)) continue;
        for (const RunRow& row : run(topology, point, {.executor = executor, .in_place = in_place},
                                     {.bytes = {8, 60, 1000, 4100, 20000},
                                     .types = {ElementType::Float32, ElementType::Float16,
                                               ElementType::Bfloat16, ElementType::Float64},
                                     .iterations = 1,
                                     .warm_up = 0})) {
          ++counts.rows;
          counts.wrong += row.wrong;
          if (row.agrees) continue;
          ++counts.disagreeing;
          std::cout << fmt::format("{} of {}: {} steps, {} rounds, {} chunks, {} bytes{}\n",
                                   name_of(collective), topology.name, point.cost.steps, point.cost.rounds,
                                   point.cost.chunks, row.bytes, in_place ? ", in place" : "");
        }
      }
  }
}

int main_of(int count, unsigned seed, bool named) {
  Counts counts;
  if (named)
    for (const char* name :
         {"dgx1", "full:8", "ring:8", "amd-z52", "mesh:2x4", "hypercube:3", "torus:3x3", "line:5", "star:5",
          "hub:6", "dgx-a100:1", "dgx1:2", "mi250:1", "torus:4x4", "hypercube:4"}) {
      const Topology topology = machine(name);
      ++counts.machines;
      count_differences(topology, collective("allreduce", topology), 2, counts);
    }
  // Rank 4 gets in one step, apart, what rank 2 gets as a sum: it has to add that up first.
  const Topology apart = topology_from_json(
      R"({"topology": "apart", "ranks": 5, "links": [{"src": 4, "dst": 3, "both_ways": true},
          {"src": 3, "dst": 0}, {"src": 0, "dst": 2, "bandwidth": 2}, {"src": 2, "dst": 1, "both_ways": true},
          {"src": 1, "dst": 4, "bandwidth": 3, "both_ways": true}]})",
      "test");
  ++counts.machines;
  count_differences(apart, collective("allreduce", apart), 3, counts, 1);
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    // Mostly few ranks, which are searched through; up to 16 of all counts.
    const Topology topology = test::random_machine(random, {.most_ranks = i % 3 == 0 ? 16 : 7});
    ++counts.machines;
    count_differences(topology, collective("allreduce", topology), 1 + test::below(random, 3), counts);
    count_differences(topology, custom_sum(topology.ranks, random), 1 + test::below(random, 2), counts);
  }
  std::cout << fmt::format(
      "seed {}: {} machines, {} points, {} rows of sizes, types, executors and memories: {} elements wrong, "
      "{} rows with ranks that differ\n",
      seed, counts.machines, counts.points, counts.rows, counts.wrong, counts.disagreeing);
  return counts.wrong == 0 && counts.disagreeing == 0 && counts.rows > 0 ? 0 : 1;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    std::cerr << "usage: replicas COUNT SEED [--named]\n";
    return 2;
  }
  return chorale::main_of(std::atoi(words[0].c_str()), static_cast<unsigned>(std::atoi(words[1].c_str())),
                          words.size() > 2 && words[2] == "--named");
}
