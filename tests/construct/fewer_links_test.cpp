#include "graph/fewer_links.h"

#include <gtest/gtest.h>

#include <random>

#include "construct/incumbents.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"

namespace chorale::test {
namespace {

// A fast ring and a slow chord: without the chord a chunk per round is ten of the whole machine's.
TEST(FewerLinks, ARingWithoutItsSlowChord) {
  Topology whole{.name = "chord", .ranks = 4};
  for (Rank n = 0; n < 4; ++n) whole.links.push_back({.src = n, .dst = (n + 1) % 4, .bandwidth = 10});
  whole.links.push_back({.src = 0, .dst = 2});
  const std::vector<FewerLinks> all = machines_of_fewer_links(whole);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].links, (std::vector<LinkId>{0, 1, 2, 3}));
  EXPECT_EQ(all[0].unit, 10);
  EXPECT_EQ(all[0].machine.topology().links[0].bandwidth, 1);
  EXPECT_DOUBLE_EQ(all[0].machine.topology().links[0].beta_us_per_byte, 4e-6);
}

TEST(FewerLinks, NoneWhereASlowLinkIsTheOnlyPath) {
  Topology whole{.ranks = 2};
  whole.links = {{.src = 0, .dst = 1, .bandwidth = 2}, {.src = 1, .dst = 0}};
  EXPECT_TRUE(machines_of_fewer_links(whole).empty());
}

// The same links in the same steps: as many rounds of as many times the chunks, or no more rounds of the
// same.
TEST(FewerLinks, SchedulesAreThoseOfTheWhole) {
  std::mt19937 random(3);
  int carried = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    Topology whole = random_machine(random, {.most_ranks = 5, .most_limits = 2});
    for (Link& link : whole.links)
      if (below(random, 2) == 0) link.alpha_us = 3;
    for (const FewerLinks& fewer : machines_of_fewer_links(whole))
      for (const char* const name : {"allgather", "allreduce"}) {
        const Collective one = make_collective(name, whole.ranks, 1);
        for (const Point& point : incumbents(fewer.machine, one)) {
          const Point finer = on_whole(point, fewer, whole, one, true);
          EXPECT_EQ(finer.cost, (Cost{point.cost.steps, point.cost.rounds, point.cost.chunks * fewer.unit}));
          EXPECT_TRUE(violations(whole, with_chunks(one, finer.cost.chunks), finer, 1).empty());
          const Point same = on_whole(point, fewer, whole, one, false);
          EXPECT_LE(same.cost.rounds, point.cost.rounds);
          EXPECT_TRUE(violations(whole, one, same, 1).empty());
          Collective ordered = one;
          ordered.order.kind = SumOrder::Kind::Free;
          EXPECT_EQ(on_whole(point, fewer, whole, ordered, false).collective, same.collective);
          ++carried;
        }
      }
  }
  EXPECT_GE(carried, 40);
}

}  // namespace
}  // namespace chorale::test
