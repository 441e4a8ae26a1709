// There is an incumbent for every collective on every machine that can do it, and the verifier agrees.
#include "construct/incumbents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Slow and obvious: is there a way for each wanted thing? Links are walked until nothing changes.
bool possible(const Topology& t, const Collective& c) {
  const auto reached = [&](const RankSet& from) {
    std::vector<bool> in(t.ranks, false);
    for (Rank n : from) in[n] = true;
    for (int again = 0; again < t.ranks; ++again)
      for (const Link& link : t.links)
        if (in[link.src]) in[link.dst] = true;
    return in;
  };
  for (const ChunkSpec& spec : c.chunks)
    for (Rank d : spec.post) {
      if (!c.combining && !reached(spec.pre)[d]) return false;
      for (Rank p : spec.pre)
        if (c.combining && !reached({p})[d]) return false;
    }
  return true;
}

bool something_to_move(const Collective& c) {
  return std::ranges::any_of(c.chunks, [&](const ChunkSpec& spec) {
    return c.combining ? std::ranges::any_of(spec.post, [&](Rank d) { return spec.pre != RankSet{d}; })
                       : !std::ranges::includes(spec.pre, spec.post);
  });
}

// Returns how many there were.
std::size_t hold(const Topology& t, const Collective& c, int extra) {
  const std::vector<Point> points = incumbents(t, c, nullptr, extra);
  EXPECT_EQ(points.empty(), !possible(t, c)) << name_of(c) << " of " << t.ranks << " ranks, k " << extra;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    EXPECT_THAT(violations(t, c, point.schedule), IsEmpty()) << name_of(point.method);
    EXPECT_EQ(point.collective, c);
    EXPECT_EQ(point.cost, (Cost{.steps = static_cast<int>(point.schedule.steps.size()),
                                .rounds = total_rounds(point.schedule),
                                .chunks = c.chunks_per_block}));
    EXPECT_LE(point.cost.rounds - point.cost.steps, extra);
    EXPECT_EQ(point.cost.steps > 0, something_to_move(c));
    if (i > 0) {
      EXPECT_LT(points[i - 1].cost.steps, point.cost.steps);
      EXPECT_GT(points[i - 1].cost.rounds, point.cost.rounds);
    }
  }
  // Who is out of time has one.
  const std::vector<Point> quick = quick_incumbents(t, c, extra);
  EXPECT_EQ(quick.empty(), points.empty()) << name_of(c) << " of " << t.ranks << " ranks, k " << extra;
  for (const Point& point : quick) {
    EXPECT_THAT(violations(t, c, point.schedule), IsEmpty());
    EXPECT_LE(point.cost.rounds - point.cost.steps, extra);
  }
  return points.size();
}

// With a smaller k there is as much as with a larger one, or less, but something.
std::size_t hold(const Topology& t, const Collective& c) {
  hold(t, c, 0);
  hold(t, c, 2);
  const std::vector<Point> all = incumbents(t, c);
  for (const Point& narrow : incumbents(t, c, nullptr, 0))
    EXPECT_TRUE(std::ranges::any_of(all,
                                    [&](const Point& p) {
                                      return p.cost.steps <= narrow.cost.steps &&
                                             p.cost.rounds <= narrow.cost.rounds;
                                    }))
        << name_of(c) << " of " << t.ranks << " ranks";
  return hold(t, c, kAnyRounds);
}

TEST(Incumbents, OnEveryConnectedMachine) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(random, {.most_ranks = 9, .most_failed = 2});
    const Collective c = test::random_collective(random, t.ranks, {.unwanted = true});
    ASSERT_TRUE(possible(t, c));
    found += hold(t, c);
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 800u);  // many have a choice between few steps and few rounds
}

// Here some pairs have no way, or a way in one direction only: what can be done is, and nothing is reported
// of what cannot.
TEST(Incumbents, WhereverThereIsAWay) {
  int impossible = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Topology t = test::random_machine(
        random,
        {.most_ranks = 8, .joined = test::Machines::Joined::Nothing, .least_links = 6, .most_failed = 2});
    const Collective c = test::random_collective(random, t.ranks, {.unwanted = true});
    impossible += hold(t, c) == 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(impossible, 300);
  EXPECT_LT(impossible, 1200);
}

Collective sum(int ranks, std::vector<Rank> pre, std::vector<Rank> post) {
  return {.custom_name = "sum", .ranks = ranks, .combining = true, .chunks = {{.pre = pre, .post = post}}};
}

Topology with_links(int ranks, const std::vector<std::pair<Rank, Rank>>& links) {
  Topology t{.name = "links", .ranks = ranks};
  for (const auto& [a, b] : links) t.links.push_back({.src = a, .dst = b});
  return t;
}

// No rank hears of 0 and 1 and reaches 2 and 3. Directly; over relays, of which 4 is on the way to both and
// must forget the first sum; and with a contributor 5 that only has a way through 0.
TEST(Incumbents, SumsWithoutACommonRank) {
  hold(with_links(4, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}), sum(4, {0, 1}, {2, 3}));
  hold(with_links(5, {{0, 4}, {4, 2}, {4, 3}, {1, 2}, {1, 3}}), sum(5, {0, 1}, {2, 3}));
  hold(with_links(6, {{0, 4}, {4, 2}, {4, 3}, {1, 2}, {1, 3}, {5, 0}}), sum(6, {0, 1, 5}, {2, 3}));
}

// Rank 2 hears of all from 3 alone, which then has the sum as well and must not be sent it.
TEST(Incumbents, ARootThatHearsOfAllFromOneRank) {
  hold(with_links(5, {{0, 3}, {1, 3}, {3, 2}, {2, 3}, {2, 4}}), sum(5, {0, 1}, {2, 3, 4}));
}

std::vector<Cost> costs(const std::vector<Point>& points) {
  std::vector<Cost> all;
  for (const Point& point : points) all.push_back(point.cost);
  return all;
}

// Known optima: on a full machine everyone tells everyone; on a ring of 4 the opposite rank is two hops away,
// and three foreign chunks come in over two links.
TEST(Incumbents, OptimaOfSmallMachines) {
  EXPECT_THAT(costs(incumbents(test::full(5), make_collective("allreduce", 5, 1))),
              ElementsAre(Cost{.steps = 1, .rounds = 1, .chunks = 1}));
  EXPECT_THAT(costs(incumbents(test::ring(4), make_collective("allgather", 4, 1))),
              ElementsAre(Cost{.steps = 2, .rounds = 2, .chunks = 1}));
  EXPECT_THAT(costs(incumbents(test::ring(4), make_collective("reducescatter", 4, 1))),
              ElementsAre(Cost{.steps = 2, .rounds = 2, .chunks = 1}));
  // A hub of 4 sends one chunk per rank and round: all at once, or doubling.
  EXPECT_THAT(
      costs(incumbents(test::hub(4), make_collective("broadcast", 4, 1))),
      ElementsAre(Cost{.steps = 1, .rounds = 3, .chunks = 1}, Cost{.steps = 2, .rounds = 2, .chunks = 1}));
}

TEST(Incumbents, NamesThatPeopleKnowGoFirst) {
  const std::vector<Point> points = incumbents(test::full(4), make_collective("alltoall", 4, 2));
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points[0].method, Method::DirectAlltoall);
  EXPECT_EQ(points[0].construction, "direct_alltoall");
  const Point ours = incumbents(test::full(4), sum(4, {0, 1}, {2, 3})).at(0);
  EXPECT_EQ(ours.method, Method::Direct);
  EXPECT_EQ(ours.construction, "sums");
}

TEST(Incumbents, NothingToMoveIsNoSteps) {
  for (const std::string& name : collective_names())
    EXPECT_THAT(costs(incumbents(Topology{.name = "one", .ranks = 1}, make_collective(name, 1, 2))),
                ElementsAre(Cost{.steps = 0, .rounds = 0, .chunks = 2}));
  EXPECT_THAT(costs(incumbents(test::ring(3), sum(3, {1}, {1}))),
              ElementsAre(Cost{.steps = 0, .rounds = 0, .chunks = 1}));
}

TEST(Incumbents, NoneWhenStoppedBeforehand) {
  const std::atomic<bool> stop = true;
  for (const std::string name : {"allgather", "allreduce"})
    EXPECT_THAT(incumbents(test::ring(4), make_collective(name, 4, 1), &stop), IsEmpty());
}

// The verifier would need 25 GiB for a count of each contribution to each chunk at each rank.
TEST(Incumbents, NoneThatCannotBeVerified) {
  EXPECT_THAT(quick_incumbents(test::ring(3000), make_collective("reducescatter", 3000, 1)), IsEmpty());
  EXPECT_THAT(incumbents(test::ring(3000), make_collective("reducescatter", 3000, 1)), IsEmpty());
}

}  // namespace
}  // namespace chorale
