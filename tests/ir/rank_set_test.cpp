#include "ir/rank_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "ir/collective.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;

TEST(RankSet, IsSortedAndEqualByValue) {
  EXPECT_THAT(RankSet({3, 1, 2}), ElementsAre(1, 2, 3));
  EXPECT_EQ(RankSet({3, 1}), RankSet({1, 3}));
  EXPECT_NE(RankSet({3}), RankSet({1}));
  EXPECT_NE(RankSet({0}), RankSet());
  EXPECT_EQ(RankSet::all(1), RankSet({0}));
  EXPECT_TRUE(RankSet().empty());
  EXPECT_FALSE(RankSet().contains(0));
}

TEST(RankSet, CopiesShareWhatTheyHold) {
  const RankSet all = RankSet::all(1000), copy = all;
  EXPECT_EQ(copy.begin(), all.begin());
  EXPECT_TRUE(copy.shares(all));
  EXPECT_FALSE(RankSet::all(1000).shares(all));
  EXPECT_EQ(RankSet::all(1000), all);
}

// As std::set<Rank> and std::vector<Rank> have it.
TEST(RankSet, OrdersAndFindsAsVectorsDo) {
  std::mt19937 random(11);
  const auto some = [&] {
    std::set<Rank> ranks;
    for (unsigned i = random() % 4; i > 0; --i) ranks.insert(static_cast<Rank>(random() % 4));
    return ranks;
  };
  for (int round = 0; round < 1000; ++round) {
    const std::set<Rank> a = some(), b = some();
    const std::vector<Rank> x(a.begin(), a.end()), y(b.begin(), b.end());
    EXPECT_EQ(RankSet(x) < RankSet(y), x < y);
    EXPECT_EQ(RankSet(x) == RankSet(y), x == y);
    for (Rank n = 0; n < 4; ++n) EXPECT_EQ(RankSet(x).contains(n), a.contains(n));
  }
}

// Against a map of all chunks, on random collectives in which equal chunks lie apart.
TEST(ChunkClasses, AreThoseWithEqualEnds) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    Collective c{.custom_name = "random", .ranks = 3};
    std::map<std::pair<std::set<Rank>, std::set<Rank>>, std::vector<Chunk>> known;
    for (Chunk i = 0; i < 8; ++i) {
      std::set<Rank> ends[2];
      for (std::set<Rank>& ranks : ends)
        for (Rank n = 0; n < 3; ++n)
          if (random() % 2 == 0) ranks.insert(n);
      c.chunks.push_back({.pre = std::vector<Rank>(ends[0].begin(), ends[0].end()),
                          .post = std::vector<Rank>(ends[1].begin(), ends[1].end())});
      known[{ends[0], ends[1]}].push_back(i);
    }
    const std::vector<ChunkClass> classes = chunk_classes(c);
    ASSERT_EQ(classes.size(), known.size());
    auto at = known.begin();
    for (const ChunkClass& each : classes) {
      EXPECT_TRUE(
          std::equal(each.pre.begin(), each.pre.end(), at->first.first.begin(), at->first.first.end()));
      EXPECT_EQ(each.chunks, at->second);
      ++at;
    }
  }
}

}  // namespace
}  // namespace chorale
