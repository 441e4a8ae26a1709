// Seeds of random tests. Each test has its own, so that its cases are the same in every run; in a shuffled
// run (--gtest_shuffle --gtest_random_seed=S, as benchmarks/long.py has it) they are others for each S.
#pragma once

#include <gtest/gtest.h>

#include <random>

namespace chorale::test {

inline std::mt19937 seeded(unsigned seed) {
  const int run = GTEST_FLAG_GET(shuffle) ? testing::UnitTest::GetInstance()->random_seed() : 0;
  return std::mt19937(seed + 1'000'003U * static_cast<unsigned>(run));
}

}  // namespace chorale::test
