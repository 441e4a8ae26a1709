// Combination trees, as they are written and as values are added along them.
#include "ir/sum_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;

SumOrder tree(const std::string& text, int ranks) {
  return parse_sum_order(text, ranks, "test");
}

TEST(SumOrder, EqualTreesAreEqualHoweverTheyAreWritten) {
  EXPECT_EQ(tree("((0 1)(2 3))", 4), tree(" ( (3 2) (1 0) ) ", 4));
  EXPECT_EQ(tree("(0 1 2 3)", 4), tree("(((0 1) 2) 3)", 4));
  EXPECT_NE(tree("(0 1 2)", 3), tree("(0 (1 2))", 3));
  EXPECT_EQ(to_string(tree("((3 2) (1 0))", 4)), "((0 1) (2 3))");
  EXPECT_EQ(to_string(tree("0", 1)), "0");
  EXPECT_EQ(tree("agreed", 4), SumOrder{});
  EXPECT_EQ(tree("free", 4).kind, SumOrder::Kind::Free);
}

TEST(SumOrder, WhatIsNoTreeIsSaid) {
  for (const auto& [text, words] : {std::pair("((0 1) 2", "ends early"),
                                    {"(0 1 1)", "names rank 1 twice"},
                                    {"(0 1)", "lacks rank 2"},
                                    {"(0 1 3)", "names a rank that is not one of 3"},
                                    {"(0 () 1 2)", "nothing inside"},
                                    {"(0 1 2) 3", "goes on"},
                                    {"best", "'b' where a rank should be"},
                                    {"", "ends early"},
                                    {"(0 99999999999 1)", "names a rank that is not one of 3"}})
    EXPECT_THAT(test::refusal_of([&] { tree(text, 3); }), HasSubstr(words)) << text;
}

// Aligned blocks of 2^k ranks: that of 3 is that of 4 without the last, and so on.
TEST(SumOrder, ByIndexIsTheTreeOfPairsOfPairs) {
  EXPECT_EQ(to_string(tree("by-index", 8)), "(((0 1) (2 3)) ((4 5) (6 7)))");
  EXPECT_EQ(to_string(tree("by-index", 6)), "(((0 1) (2 3)) (4 5))");
  EXPECT_EQ(to_string(tree("by-index", 3)), "((0 1) 2)");
  for (int ranks = 1; ranks < 40; ++ranks) {
    std::vector<int> fewer(ranks);
    std::iota(fewer.begin(), fewer.end(), 0);
    const CombinationTree part = restricted(tree("by-index", 40).tree, fewer);
    const auto sum = Combining(part)(fewer), same = Combining(tree("by-index", ranks).tree)(fewer);
    ASSERT_TRUE(sum && same);
    EXPECT_EQ(sum->additions, same->additions) << ranks;
  }
}

// One node over all ranks, the same however they are numbered; without some of them, too.
TEST(SumOrder, OnceAddsAllAtOnceInTheOrderOfRanks) {
  const SumOrder once = tree("once", 4);
  EXPECT_EQ(to_string(once), "once");
  EXPECT_EQ(tree(to_string(once), 4), once);
  EXPECT_NE(once, tree("(0 1 2 3)", 4));  // in which 0 and 1 are one partial sum
  EXPECT_EQ(renumbered(once.tree, {2, 0, 3, 1}), once.tree);
  EXPECT_FALSE(Combining(once.tree)({0, 1}));
  const auto sum = Combining(restricted(once.tree, {0, 2, 3}))({3, 0, 2});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->additions, (std::vector<Addition>{{1, 2}, {1, 0}}));
  EXPECT_FALSE(FirstPairs(once.tree).first(0, 1, 2));
}

// ((0 1) (2 3)): 4 is 0 + 1, 5 is 2 + 3.
TEST(Combining, AddsSiblingsFirst) {
  const CombinationTree t = tree("((0 1) (2 3))", 4).tree;
  const auto sum = Combining(t)({3, 0, 2, 1});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->additions, (std::vector<Addition>{{1, 3}, {2, 0}, {1, 2}}));
  const auto half = Combining(t)({2, 4, 3});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->additions, (std::vector<Addition>{{0, 2}, {1, 0}}));
  EXPECT_FALSE(Combining(t)({0, 2}));     // 1 and 3 are added in between
  EXPECT_FALSE(Combining(t)({0, 1, 2}));  // so is 3
}

TEST(CombinationTree, RanksThatDoNotContributeAreLeftOut) {
  const CombinationTree t = restricted(tree("((0 1) (2 3))", 4).tree, {0, 2, 3});
  const auto sum = Combining(t)({0, 2, 3});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->additions, (std::vector<Addition>{{1, 2}, {0, 1}}));
}

TEST(CombinationTree, Renumbered) {
  EXPECT_EQ(to_string(renumbered(tree("((0 1) (2 3))", 4).tree, {0, 2, 1, 3})), "((0 2) (1 3))");
}

TEST(FirstPairs, KnowWhichTwoAreAddedFirst) {
  const FirstPairs pairs(tree("((0 1) (2 3))", 4).tree);
  EXPECT_TRUE(pairs.first(0, 1, 2));
  EXPECT_FALSE(pairs.first(0, 2, 1));
  EXPECT_TRUE(pairs.first(2, 3, 0));
  EXPECT_FALSE(pairs.first(1, 2, 3));
}

}  // namespace
}  // namespace chorale
