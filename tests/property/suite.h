// The property suite: tables of makers (of machines, communications, schedules, claims and verdicts) by
// properties, on random cases. A case follows from its maker and its seed alone. What fails is printed with
// the maker, the property, the seed, and the command that does the case again.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <ostream>
#include <random>
#include <string>

namespace chorale::test {

struct Suite {
  std::optional<unsigned> seed = {};  // only this case; then nothing is counted
  unsigned first = 0;                 // cases from this seed on
  unsigned times = 1;                 // as many cases: --long
};

inline Suite& suite() {
  static Suite chosen;
  return chosen;
}

// A row of a table of makers names a test; gtest allows letters only.
template <typename Row>
std::string test_name(const testing::TestParamInfo<Row>& info) {
  std::string name = info.param.maker;
  std::erase_if(name, [](char c) { return !std::isalpha(static_cast<unsigned char>(c)); });
  return name;
}

// Calls do_case(random, seed) for each seed, up to the first failure.
template <typename DoCase>
void each_case(const std::string& maker, unsigned cases, const DoCase& do_case) {
  const unsigned first = suite().seed.value_or(suite().first),
                 after = suite().seed ? first + 1 : first + cases * suite().times;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  for (unsigned seed = first; seed != after && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(maker + ", seed " + std::to_string(seed) + "; again: test_property --gtest_filter='" +
                 test.test_suite_name() + "." + test.name() + "' --seed=" + std::to_string(seed));
    std::mt19937 random(seed);
    do_case(random, seed);
  }
}

// Is it worth counting how often something was found?
inline bool counts() {
  return !suite().seed && !testing::Test::HasFailure();
}

}  // namespace chorale::test
