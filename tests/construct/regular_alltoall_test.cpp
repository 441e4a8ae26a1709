// The Alltoall of translations, and edge colourings (its rounds and steps: product_alltoall_test.cpp).
#include "construct/exact/regular_alltoall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "tests/kit/random.h"
#include "tests/semantics/machines.h"
#include "topology/machines.h"

namespace chorale {
namespace {

using test::below;
using ::testing::IsEmpty;

TEST(RegularAlltoall, NoneOfWhatItIsNotFor) {
  const Topology t = test::ring(4);
  EXPECT_EQ(regular_alltoall(t, make_collective("alltoall", 4, 1)).size(), 1U);
  EXPECT_THAT(regular_alltoall(t, make_collective("allgather", 4, 1)), IsEmpty());
  EXPECT_THAT(regular_alltoall(load_topology("mesh:2x3"), make_collective("alltoall", 6, 1)), IsEmpty());
  EXPECT_THAT(regular_alltoall({.name = "apart", .ranks = 2}, make_collective("alltoall", 2, 1)), IsEmpty());
  const std::atomic<bool> stop = true;
  EXPECT_THAT(regular_alltoall(t, make_collective("alltoall", 4, 1), &stop), IsEmpty());
}

// Any uses that could be even are made so: items of up to four uses in four or more steps, kinds as wide as
// they must be.
TEST(EdgeColours, EachItemAtMostOnceAStepAndKindsEven) {
  int made = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int items = 1 + below(random, 12), kinds = 1 + below(random, 4), steps = 4 + below(random, 3);
    std::vector<std::vector<int>> uses(items, std::vector<int>(kinds, 0));
    std::vector<int> widths, sums(kinds, 0);
    for (std::vector<int>& of : uses)
      for (int n = below(random, 5); n > 0; --n) ++of[below(random, kinds)];
    int rounds = steps;
    for (int k = 0; k < kinds; ++k) {
      widths.push_back(1 + below(random, 3));
      for (const std::vector<int>& of : uses) sums[k] += of[k];
      rounds = std::max(rounds, (sums[k] + widths[k] - 1) / widths[k]);
    }
    const bool even = below(random, 2) == 0;
    if (even) rounds = (rounds + steps - 1) / steps * steps;
    const auto chosen = edge_colours(uses, widths, steps, rounds);
    EXPECT_TRUE(chosen.has_value() || !even);
    if (!chosen) continue;
    ++made;
    std::vector<std::vector<int>> load(steps, std::vector<int>(kinds, 0)),
        done(items, std::vector<int>(kinds, 0));
    for (int x = 0; x < items; ++x)
      for (int s = 0; s < steps; ++s)
        if (const int k = (*chosen)[x][s]; k >= 0) {
          ++load[s][k];
          ++done[x][k];
        }
    EXPECT_EQ(done, uses);
    int needed = 0;
    for (const std::vector<int>& of : load) {
      int most = 0;
      for (int k = 0; k < kinds; ++k) most = std::max(most, (of[k] + widths[k] - 1) / widths[k]);
      needed += most;
    }
    EXPECT_LE(needed, rounds);
  }
  EXPECT_GT(made, 200);
  EXPECT_FALSE(edge_colours({{3}}, {5}, 2, 9).has_value());            // one item, three uses in two steps
  EXPECT_FALSE(edge_colours({{1}, {1}, {1}}, {1}, 2, 2).has_value());  // three uses of what is there twice
}

}  // namespace
}  // namespace chorale
