// Groups that are written down: that they are groups, of symmetries, none of which fixes a rank.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "graph/automorphisms.h"
#include "topology/machines.h"

namespace chorale {
namespace {

void expect_free_group(const Topology& t, const std::vector<std::vector<Rank>>& group) {
  const std::set<std::vector<Rank>> elements(group.begin(), group.end());
  EXPECT_EQ(elements.size(), group.size());
  EXPECT_TRUE(std::ranges::is_sorted(group.front()));  // the identity
  for (std::size_t g = 0; g < group.size(); ++g) {
    EXPECT_TRUE(automorphism(t, group[g]).has_value());
    for (Rank n = 0; g > 0 && n < t.ranks; ++n) EXPECT_NE(group[g][n], n);
    std::vector<Rank> twice;  // closed: with the last element, which turns all digits
    for (Rank n : group[g]) twice.push_back(group.back()[n]);
    EXPECT_TRUE(elements.contains(twice));
  }
}

TEST(DigitShifts, OfMachinesThatAreAlikeAllOver) {
  for (const std::string name : {"ring:8", "torus:4x4", "torus:3x5", "torus:2x3x4", "hypercube:4", "full:6",
                                 "hub:5", "dgx2", "dgx-a100:1", "dgx-a100:3"}) {
    SCOPED_TRACE(name);
    const Topology t = load_topology(name);
    const std::vector<std::vector<Rank>> group = digit_shifts(t);
    EXPECT_EQ(static_cast<int>(group.size()), t.ranks);
    expect_free_group(t, group);
  }
}

// Two rings side by side: each turns, and they change places. A line does nothing of the kind.
TEST(DigitShifts, OfOthersWhatThereIs) {
  Topology two{.name = "two rings", .ranks = 6};
  for (Rank n = 0; n < 6; ++n) two.links.push_back({.src = n, .dst = n / 3 * 3 + (n + 1) % 3});
  EXPECT_EQ(digit_shifts(two).size(), 6U);
  expect_free_group(two, digit_shifts(two));
  two.links.pop_back();  // one is broken
  EXPECT_EQ(digit_shifts(two).size(), 1U);
  EXPECT_EQ(digit_shifts(load_topology("line:5")).size(), 1U);
}

// Widths count, and parallel links.
TEST(DigitShifts, OfEqualLinksOnly) {
  Topology t{.name = "ring", .ranks = 4};
  for (Rank n = 0; n < 4; ++n) t.links.push_back({.src = n, .dst = (n + 1) % 4, .bandwidth = 1 + n % 2});
  EXPECT_EQ(digit_shifts(t).size(), 2U);
  t.links.push_back({.src = 0, .dst = 1});
  EXPECT_EQ(digit_shifts(t).size(), 1U);
}

}  // namespace
}  // namespace chorale
