#include "placement/matrices.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/error.h"

namespace chorale {
namespace {

Hierarchy with_levels(const std::vector<int>& fan_outs) {
  Hierarchy hierarchy{.name = "h"};
  for (std::size_t j = 0; j < fan_outs.size(); ++j)
    hierarchy.levels.push_back({.name = "l" + std::to_string(j), .fan_out = fan_outs[j]});
  return hierarchy;
}

std::vector<Axis> with_axes(const std::vector<int>& sizes) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    axes.push_back({.name = "a" + std::to_string(i), .size = sizes[i]});
  return axes;
}

// Table 3's matrices.
TEST(Matrices, OfThePaper) {
  const auto matrices = [](const std::vector<int>& fan_outs, const std::vector<int>& sizes) {
    std::vector<std::vector<std::vector<int>>> result;
    for (const ParallelismMatrix& matrix : all_matrices(with_levels(fan_outs), with_axes(sizes)))
      result.push_back(matrix.factors);
    return result;
  };
  using Matrices = std::vector<std::vector<std::vector<int>>>;
  EXPECT_EQ(matrices({4, 16}, {2, 32}), (Matrices{{{1, 2}, {4, 8}}, {{2, 1}, {2, 16}}}));
  EXPECT_EQ(matrices({4, 16}, {4, 16}), (Matrices{{{1, 4}, {4, 4}}, {{2, 2}, {2, 8}}, {{4, 1}, {1, 16}}}));
  EXPECT_EQ(matrices({4, 16}, {8, 8}), (Matrices{{{1, 8}, {4, 2}}, {{2, 4}, {2, 4}}, {{4, 2}, {1, 8}}}));
  EXPECT_EQ(matrices({4, 8}, {8, 4}), (Matrices{{{1, 8}, {4, 1}}, {{2, 4}, {2, 2}}, {{4, 2}, {1, 4}}}));
  EXPECT_EQ(matrices({4, 16}, {64}), (Matrices{{{4, 16}}}));
}

TEST(Matrices, AreAllThatMultiplyRight) {
  const Hierarchy hierarchy = with_levels({6, 4, 5});
  const std::vector<Axis> axes = with_axes({4, 15, 2});
  std::size_t expected = 0;
  // Every 3 x 3 matrix of divisors.
  const auto divisors = [](int n) {
    std::vector<int> result;
    for (int d = 1; d <= n; ++d)
      if (n % d == 0) result.push_back(d);
    return result;
  };
  for (int a : divisors(6))
    for (int b : divisors(4))
      for (int c : divisors(5))
        for (int d : divisors(6))
          for (int e : divisors(4))
            for (int f : divisors(5))
              for (int g : divisors(6))
                for (int h : divisors(4))
                  for (int i : divisors(5))
                    expected += a * d * g == 6 && b * e * h == 4 && c * f * i == 5 && a * b * c == 4 &&
                                d * e * f == 15 && g * h * i == 2;
  EXPECT_GT(expected, 1U);
  EXPECT_EQ(all_matrices(hierarchy, axes).size(), expected);
}

TEST(Matrices, SatFindsTheSameUnderRandomConditions) {
  std::mt19937 random(23);
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  int with_matrices = 0, without = 0;
  for (int round = 0; round < 300; ++round) {
    const int levels = 1 + below(3), count = 1 + below(3);
    std::vector<int> fan_outs(levels, 1), sizes(count, 1);
    for (int factor = 0; factor < 5; ++factor) {
      const int prime = std::vector<int>{2, 2, 3, 5}[below(4)];
      fan_outs[below(levels)] *= prime;
      sizes[below(count)] *= prime;
    }
    const Hierarchy hierarchy = with_levels(fan_outs);
    const std::vector<Axis> axes = with_axes(sizes);
    Conditions conditions;
    if (below(2)) conditions.inside.push_back({below(count), below(levels)});
    if (below(2) && count > 1) conditions.order.push_back({0, 1});
    if (below(2)) conditions.memory.push_back({below(levels), {below(count)}, 1.5, 1.5 * (1 + below(6))});
    const auto enumerated = all_matrices(hierarchy, axes, conditions);
    const SolvedMatrices solved = solve_matrices(hierarchy, axes, conditions, *make_solver());
    EXPECT_EQ(solved.matrices, enumerated);
    EXPECT_TRUE(solved.complete);
    ++(enumerated.empty() ? without : with_matrices);
  }
  EXPECT_GT(with_matrices, 50);
  EXPECT_GT(without, 10);
}

TEST(Matrices, AxesMustFit) {
  EXPECT_THROW(all_matrices(with_levels({4, 8}), with_axes({4, 4})), InputError);
  EXPECT_THROW(solve_matrices(with_levels({4, 8}), with_axes({3}), {}, *make_solver()), InputError);
}

}  // namespace
}  // namespace chorale
