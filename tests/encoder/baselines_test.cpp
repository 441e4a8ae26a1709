// The published encodings against ours, on every budget of random instances, and each decoded schedule by the
// verifier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "encoder/partition_encoding.h"
#include "pareto/synthesize.h"
#include "tests/encoder/brute_force.h"

namespace chorale {
namespace {

TEST(PartitionEncoding, SplitsAreAllCompositions) {
  std::vector<int> split = {1, 1, 3};
  std::vector<std::vector<int>> all = {split};
  while (next_partition(split)) all.push_back(split);
  // Five into three positive parts: choose 2 of 4 gaps, in lexicographic order.
  EXPECT_THAT(all, testing::ElementsAre(std::vector{1, 1, 3}, std::vector{1, 2, 2}, std::vector{1, 3, 1},
                                        std::vector{2, 1, 2}, std::vector{2, 2, 1}, std::vector{3, 1, 1}));
}

TEST(Baselines, AllEnginesGiveTheSameAnswers) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  int sat = 0, unsat = 0;
  for (int i = 0; i < 12; ++i) {
    Topology t{.name = "random", .ranks = 4};
    for (Rank n = 0; n < 4; ++n)  // connected: a ring in one direction
      t.links.push_back({.src = n, .dst = (n + 1) % 4, .bandwidth = 1 + static_cast<int>(random() % 2)});
    while (t.links.size() < 7) {
      const Rank src = static_cast<Rank>(random() % 4), dst = static_cast<Rank>(random() % 4);
      if (src != dst) t.links.push_back({.src = src, .dst = dst});
    }
    if (i % 2 == 0) t.limits.push_back({.name = "port", .links = {1, 3, 5}, .bandwidth = 1});
    const Collective c = make_collective(i % 3 == 0   ? "allgather"
                                         : i % 3 == 1 ? "alltoall"
                                                      : "reducescatter",
                                         4, 1);
    for (const Budget& budget : {Budget{.steps = 2, .rounds = 2}, Budget{.steps = 3, .rounds = 3},
                                 Budget{.steps = 3, .rounds = 5}}) {
      const Verdict ours = synthesize(t, c, budget, {.use_bounds = false}).verdict;
      ++(ours == Verdict::Sat ? sat : unsat);
      EXPECT_NE(ours, Verdict::Unknown);
      EXPECT_EQ(ours, synthesize(t, c, budget).verdict) << "bounds change the answer, case " << i;
      for (Engine engine : {Engine::Smt, Engine::SatPartition})
        EXPECT_EQ(ours, synthesize(t, c, budget, {.engine = engine, .use_bounds = false}).verdict)
            << "case " << i;
    }
  }
  EXPECT_GT(sat, 3);
  EXPECT_GT(unsat, 3);
}

}  // namespace
}  // namespace chorale
