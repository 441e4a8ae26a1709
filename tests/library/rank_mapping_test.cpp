// Ranks called otherwise: an algorithm of a machine as a program numbers it.
#include "library/rank_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "ir/collective.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<RankLocation> on(const std::vector<int>& hosts) {
  std::vector<RankLocation> result;
  for (const int host : hosts) result.push_back({.host = host});
  return result;
}

TEST(Locations, RanksOfAHostAreThoseOfAHost) {
  // Two hosts of two, and the program deals its ranks out in turn.
  EXPECT_THAT(*rank_mapping({0, 0, 1, 1}, on({5, 3, 5, 3})), ElementsAre(0, 2, 1, 3));
  // Hosts of one size are taken as they come, those of another are found.
  EXPECT_THAT(*rank_mapping({0, 1, 1, 2, 2}, on({7, 7, 8, 9, 9})), ElementsAre(2, 0, 1, 3, 4));
  EXPECT_THAT(*rank_mapping({0, 1}, on({1, 0})), ElementsAre(0, 1));
  // On a host by place.
  EXPECT_THAT(*rank_mapping({0, 0, 0}, {{.place = 30}, {.place = 10}, {.place = 20}}), ElementsAre(1, 2, 0));
}

TEST(Locations, OtherHostsAreRefused) {
  EXPECT_FALSE(rank_mapping({0, 0, 1, 1}, on({0, 0, 0, 0})));
  EXPECT_FALSE(rank_mapping({0, 0, 0, 0}, on({0, 0, 1, 1})));
  EXPECT_FALSE(rank_mapping({0, 0, 1, 1}, on({0, 0, 0, 1})));
  EXPECT_FALSE(rank_mapping({0, 1, 2}, on({0, 1, 1})));
  EXPECT_FALSE(rank_mapping({0, 0}, on({0, 0, 0})));
}

TEST(Locations, HostsAreNumberedAsRanksComeToThem) {
  const std::uint64_t a = number_of_host("a"), b = number_of_host("b"), none = number_of_host("");
  const std::vector<Whereabouts> told = {{b, 7}, {a, 0}, {b, 3}, {none, 0}, {a, 9}};
  std::vector<RankLocation> locations(told.size());
  locate_ranks(told, locations);
  EXPECT_THAT(locations, ElementsAre(RankLocation{0, 7}, RankLocation{1, 0}, RankLocation{0, 3},
                                     RankLocation{2, 0}, RankLocation{1, 9}));
}

// By the definition: the locations of what a rank is called are as many, and as they are distinguished, as
// the machine's.
TEST(Locations, RandomGroupsSitAsTheMachineDoes) {
  const unsigned seed = 20261123;
  SCOPED_TRACE(seed);
  std::mt19937 dice(seed);
  int seen = 0;
  for (int turn = 0; turn < 500; ++turn) {
    const int ranks = 1 + static_cast<int>(dice() % 9), hosts = 1 + static_cast<int>(dice() % 4);
    std::vector<int> machine(ranks);
    for (int& host : machine) host = static_cast<int>(dice() % hosts);
    std::vector<int> group = machine;
    std::ranges::shuffle(group, dice);
    for (int& host : group) host = 10 - host;
    if (turn % 3 == 0) group[0] = 77;  // mostly other hosts
    const auto found = rank_mapping(machine, on(group));
    std::vector<int> of_machine(20), of_group(100);
    for (const int host : machine) ++of_machine[host];
    for (const int host : group) ++of_group[host];
    std::ranges::sort(of_machine, std::greater<>());
    std::ranges::sort(of_group, std::greater<>());
    EXPECT_EQ(found.has_value(), std::equal(of_machine.begin(), of_machine.end(), of_group.begin()));
    if (!found) continue;
    ++seen;
    EXPECT_TRUE(std::ranges::is_permutation(*found, [&] {
      std::vector<Rank> all(ranks);
      std::iota(all.begin(), all.end(), 0);
      return all;
    }()));
    for (Rank a = 0; a < ranks; ++a)
      for (Rank b = 0; b < ranks; ++b)
        EXPECT_EQ(machine[a] == machine[b], group[(*found)[a]] == group[(*found)[b]]);
  }
  EXPECT_GT(seen, 200);
}

// A collective whose ranks are called otherwise is that collective, with the root that is meant; chunks may
// come in another order. From the definition of the collective, which knows nothing of renaming.
TEST(Renamed, CollectivesAreThemselves) {
  std::mt19937 dice(7);
  const auto sorted = [](std::vector<ChunkSpec> chunks) {
    std::ranges::sort(chunks, {},
                      [](const ChunkSpec& c) { return std::tuple(c.pre, c.post, c.input, c.output); });
    return chunks;
  };
  for (const std::string& name : collective_names())
    for (const int pieces : {1, 3})
      for (int turn = 0; turn < 5; ++turn) {
        std::vector<Rank> ranks(5);
        std::iota(ranks.begin(), ranks.end(), 0);
        std::ranges::shuffle(ranks, dice);
        const Rank root = is_rooted(known_kind(name)) ? 2 : 0;
        const Collective got = renamed(make_collective(name, 5, pieces, root), ranks);
        const Collective want =
            make_collective(name, 5, pieces, is_rooted(known_kind(name)) ? ranks[root] : root);
        EXPECT_EQ(sorted(got.chunks), sorted(want.chunks)) << name;
        EXPECT_EQ(got.root, want.root) << name;
      }
}

Topology two_way(int ranks, const std::vector<std::pair<Rank, Rank>>& ends) {
  Topology result{.name = "here", .ranks = ranks};
  for (const auto& [a, b] : ends) {
    result.links.push_back({.src = a, .dst = b});
    result.links.push_back({.src = b, .dst = a});
  }
  return result;
}

TEST(Symmetries, CarryARankWhereTheMachineIsTheSame) {
  const Topology ring = two_way(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}});
  const auto found = carrying(ring, 2);
  ASSERT_EQ(found.size(), 5u);
  for (Rank to = 0; to < 5; ++to) {
    ASSERT_EQ(found[to].size(), 5u);
    EXPECT_EQ(found[to][2], to);
    // A symmetry carries links to links.
    for (const Link& link : renamed(ring, found[to]).links)
      EXPECT_NE(find_link(ring, link.src, link.dst), -1);
  }
  // The middle of a line is nobody else, and its ends are each other.
  const Topology line = two_way(3, {{0, 1}, {1, 2}});
  EXPECT_THAT(carrying(line, 1), ElementsAre(IsEmpty(), ElementsAre(0, 1, 2), IsEmpty()));
  EXPECT_THAT(carrying(line, 0), ElementsAre(ElementsAre(0, 1, 2), IsEmpty(), ElementsAre(2, 1, 0)));
}

}  // namespace
}  // namespace chorale
