// Schedules for event time on machines that nobody named: right, timed as their plans say, and not below what
// bounds allow.
#include "construct/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "bounds/check.h"
#include "bounds/time_bounds.h"
#include "cost/event_time.h"
#include "pareto/strongest_bounds.h"
#include "semantics/verify.h"
#include "semantics/verify_event_times.h"
#include "tests/kit/random.h"
#include "tests/kit/seeds.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

std::optional<Point> found_by_events(const Topology& t, const Collective& one, double bytes,
                                     long long work = 50'000) {
  return event_schedule(
      {.topology = t,
       .one = one,
       .block_bytes = bytes,
       .us = [&](const Schedule& schedule, int chunks) { return *event_us(schedule, t, chunks, bytes); },
       .work = work});
}

Topology of_any_rates(std::mt19937& random, Topology t) {
  for (Link& link : t.links) {
    link.alpha_us = test::between(random, 0, 30) / 10.0;
    link.beta_us_per_byte = 1e-5 * test::between(random, 1, 10);
  }
  return t;
}

// Of any chunk count: those that any number of steps has.
std::vector<Claim> rates_of(const Topology& t, const Collective& one) {
  std::vector<Claim> claims;
  for (const Claim& claim : StrongestBounds(t, one).claims(1)) claims.push_back(of_any_chunks(t, one, claim));
  return claims;
}

// Each rank reaches each, so there is a schedule; the order of sums is that of trees, which is what named
// collectives ask for.
TEST(EventSchedules, of_random_machines_are_right_and_not_below_the_bound) {
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937 random = test::seeded(seed);
    Topology t = of_any_rates(random, test::random_machine(random, {.ports = seed % 2 == 0}));
    const Collective one =
        test::random_collective(random, t.ranks, {.custom = seed % 3 == 0, .most_per_block = 1});
    const double bytes = seed % 5 == 0 ? 0 : std::pow(10.0, test::between(random, 1, 7));
    const std::optional<Point> point = found_by_events(t, one, bytes);
    ASSERT_TRUE(point) << seed;
    EXPECT_TRUE(violations(t, with_chunks(one, point->cost.chunks), *point).empty()) << seed;
    const EventTimes times = event_times(point->schedule, t, point->cost.chunks, bytes);
    EXPECT_TRUE(violations(t, point->schedule, times, bytes / point->cost.chunks).empty()) << seed;
    EXPECT_GE(times.us, TimeBounds(t, one).strongest(bytes, rates_of(t, one)).us * (1 - 1e-9)) << seed;
    EXPECT_EQ(found_by_events(t, one, bytes)->schedule, point->schedule) << seed;
  }
}

// A chunk may go on while the next one comes. Over a line of three a Broadcast of b bytes as k chunks takes
// (k + 1) b/k over equal links, and the bytes alone are a bound: within 1 % with 128 chunks.
TEST(EventSchedules, pipeline_a_broadcast) {
  Topology line{.name = "line", .ranks = 3};
  line.links = {{.src = 0, .dst = 1}, {.src = 1, .dst = 2}};
  const Collective one = make_collective("broadcast", 3, 1);
  const double bytes = 1e9, least = bytes * line.links[0].beta_us_per_byte;
  const std::optional<Point> point = found_by_events(line, one, bytes, 10'000'000);
  ASSERT_TRUE(point);
  EXPECT_LT(event_times(point->schedule, line, point->cost.chunks, bytes).us, 1.01 * least);
}

// A link between two pairs of ranks is ten times as slow as those in the pairs. By steps a ring waits for it
// in each of its steps; by events what crosses goes while the pairs exchange theirs, so the slow link alone
// decides: two blocks over it, its latency, and what has crossed once more over a fast one.
TEST(EventSchedules, wait_for_a_slow_link_once) {
  Topology t{.name = "pairs", .ranks = 4};
  const auto join = [&](Rank a, Rank b, double alpha) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      t.links.push_back({.src = from, .dst = to, .alpha_us = alpha});
  };
  join(0, 1, 1);
  join(2, 3, 1);
  join(1, 2, 10);
  const std::optional<Point> point = found_by_events(t, make_collective("allgather", 4, 1), 0);
  ASSERT_TRUE(point);
  EXPECT_DOUBLE_EQ(event_times(point->schedule, t, point->cost.chunks, 0).us, 1 + 10 + 1);
}

TEST(EventSchedules, are_none_where_a_rank_is_not_reached_or_nothing_may_be_spent) {
  Topology one_way{.name = "one way", .ranks = 2, .links = {{.src = 0, .dst = 1}}};
  EXPECT_FALSE(found_by_events(one_way, make_collective("allgather", 2, 1), 100));
  EXPECT_FALSE(found_by_events(test::ring(4), make_collective("allgather", 4, 1), 100, 0));
  const Topology t = test::ring(3);
  const Collective one = make_collective("allreduce", 3, 1);
  EventQuestion question{.topology = t, .one = one, .block_bytes = 100, .min_chunks = 5, .max_chunks = 5};
  question.us = [&](const Schedule& schedule, int chunks) { return *event_us(schedule, t, chunks, 100); };
  EXPECT_EQ(event_schedule(question)->cost.chunks, 5);  // as many as are asked for
  question.min_chunks = question.max_chunks = 1'000'000;
  EXPECT_FALSE(event_schedule(question));
}

// By cuts and by rates; what is claimed is shown, and a hundredth more is not.
TEST(TimeBounds, of_random_machines_are_shown_and_below_every_time) {
  int cuts = 0, rates = 0, met = 0;
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random = test::seeded(seed);
    const Topology t =
        of_any_rates(random, seed % 4 == 0 ? test::able_limits(random)
                                           : test::random_machine(random, {.ports = seed % 2 == 0}));
    const Collective one =
        test::random_collective(random, t.ranks, {.custom = seed % 3 == 0, .most_per_block = 1});
    const std::vector<Claim> claims = seed % 2 == 0 ? std::vector<Claim>() : rates_of(t, one);
    const TimeBounds bounds(t, one);
    for (const double bytes : {0.0, 1e3, 1e5, 1e7}) {
      TimeClaim claim = bounds.strongest(bytes, claims);
      if (claim.us == 0) continue;
      ++(claim.claim >= 0 ? rates : cuts);
      const std::optional<Fault> wrong = fault(t, one, claims, claim);
      ASSERT_FALSE(wrong) << seed << ": " << *wrong;
      const std::optional<Point> point = found_by_events(t, one, bytes, 20'000);
      ASSERT_TRUE(point) << seed;
      const double us = *event_us(point->schedule, t, point->cost.chunks, bytes);
      ASSERT_GE(us, claim.us * (1 - 1e-9)) << seed;
      met += us <= claim.us * (1 + 1e-9);
      claim.us *= 1.01;
      EXPECT_TRUE(fault(t, one, claims, claim)) << seed << " at " << bytes;
    }
  }
  EXPECT_GT(cuts, 100);
  EXPECT_GT(rates, 10);
  EXPECT_GT(met, 50);
}

// 10 us of latency at 0 bytes. At 1 MB what enters the last rank takes 100 us over its only link besides.
TEST(TimeBounds, add_latency_and_bytes_of_a_path) {
  Topology line{.name = "line", .ranks = 3, .call_us = 7};
  line.links = {{.src = 0, .dst = 1, .alpha_us = 4, .beta_us_per_byte = 1e-5},
                {.src = 1, .dst = 2, .alpha_us = 6, .beta_us_per_byte = 1e-4}};
  const TimeBounds bounds(line, make_collective("broadcast", 3, 1));
  EXPECT_DOUBLE_EQ(bounds.strongest(0, {}).us, 10);
  EXPECT_DOUBLE_EQ(bounds.strongest(1e6, {}).us, 110);
}

// Two boxes of two, a cable of 10 us between them. Two blocks enter a box, and then go on to its other rank:
// 2 * 40 us, the cable's latency, and that of a link.
TEST(TimeBounds, are_those_of_a_cut_and_the_latency_behind_it) {
  Topology t{.name = "pairs", .ranks = 4};
  const auto join = [&](Rank a, Rank b, int bandwidth, double alpha) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      t.links.push_back({.src = from, .dst = to, .bandwidth = bandwidth, .alpha_us = alpha});
  };
  join(0, 1, 4, 1);
  join(2, 3, 4, 1);
  join(1, 2, 1, 10);
  EXPECT_DOUBLE_EQ(TimeBounds(t, make_collective("allgather", 4, 1)).strongest(1e6, {}).us, 2 * 40 + 10 + 1);
}

}  // namespace
}  // namespace chorale
