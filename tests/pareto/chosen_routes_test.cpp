// Machines whose routes through switches are too many: some are chosen, and bounds are over all. Small ones,
// whose routes can all be listed, report what is true: flatten() without choosing is slow and obvious.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/search.h"
#include "semantics/verify_routes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr RouteChoice kChoices[] = {RouteChoice::Shortest, RouteChoice::OneEach, RouteChoice::OneHop,
                                    RouteChoice::OneDigit, RouteChoice::PowersOfTwo};

// Leaves with one to three hosts each, one or two spines, trunks of any width, some of them missing, in one
// direction or doubled; now and then a link from host to host, and a limit over two trunks out of a leaf.
Topology random_fabric(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const int leaves = 1 + below(3), spines = 1 + below(2);
  std::vector<int> leaf_of;
  for (int leaf = 0; leaf < leaves; ++leaf)
    for (int h = below(3); h >= 0; --h) leaf_of.push_back(leaf);
  const int ranks = static_cast<int>(leaf_of.size());
  Topology t{.name = "fabric", .ranks = ranks, .switches = leaves + spines};
  const auto join = [&](Node a, Node b) {
    const int there = 1 + below(3), back = below(3) == 0 ? 1 + below(3) : there;
    t.links.push_back({.src = a, .dst = b, .bandwidth = there});
    t.links.push_back({.src = b, .dst = a, .bandwidth = back});
  };
  for (Rank n = 0; n < ranks; ++n) join(n, ranks + leaf_of[n]);
  for (int leaf = 0; leaf < leaves; ++leaf)
    for (int spine = 0; spine < spines; ++spine) {
      if (spine > 0 && below(4) == 0) continue;
      join(ranks + leaf, ranks + leaves + spine);
      if (below(6) == 0) join(ranks + leaf, ranks + leaves + spine);
    }
  if (ranks > 1 && below(3) == 0) join(0, ranks - 1);
  std::vector<LinkId> up;
  for (LinkId l = 0; l < std::ssize(t.links); ++l)
    if (t.links[l].src == ranks && t.links[l].dst >= ranks + leaves) up.push_back(l);
  if (up.size() > 1 && below(2) == 0)
    t.limits.push_back({.name = "up", .links = up, .bandwidth = 1 + below(3)});
  return t;
}

Rate bound_of(const Topology& t, const Collective& c) {
  return rate_shown(t, c, fewest_rounds(t, c).certificate);
}

// What cuts and flows show of all routes listed, they show of the machine with its switches; and a pair that
// a route joins is a hop apart, chosen or not.
TEST(ChosenRoutesLong, BoundsAreThoseOfAllWays) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const Topology machine = random_fabric(random);
    if (machine.ranks < 2) continue;
    const Topology all = flatten(machine);
    ASSERT_FALSE(all.underlay);
    std::vector<std::tuple<Collective, Rate, int>> known;
    for (const char* name : {"allgather", "reducescatter", "broadcast", "alltoall", "gather"}) {
      const Collective c = make_collective(name, machine.ranks, 1);
      known.emplace_back(c, bound_of(all, c), fewest_steps(all, c).steps);
    }
    const Collective sum = make_collective("allreduce", machine.ranks, machine.ranks);
    const std::vector<Point> sums = incumbents(all, sum);
    for (const RouteChoice choice : kChoices) {
      const ChosenRoutes ways = chosen_routes(machine, choice);
      ASSERT_NE(ways.choice, RouteChoice::None) << i;
      const Topology some = flat_over(machine, ways);
      EXPECT_TRUE(route_faults(some).empty()) << i << ": " << route_faults(some).front();
      for (const auto& [c, rate, steps] : known) {
        EXPECT_EQ(bound_of(some, c), rate) << i << " " << name_of(c) << " " << static_cast<int>(choice);
        EXPECT_EQ(fewest_steps(some, c).steps, steps) << i << " " << name_of(c);
      }
      // Partitions are searched for in two routes; neither may report what a schedule is better than.
      const Rate bound = bound_of(some, sum);
      for (const Point& point : sums) EXPECT_FALSE(less({point.cost.rounds, point.cost.chunks}, bound)) << i;
    }
  }
}

// Of routes that are alike each is taken as often: fat-tree:8 has 128 hosts, an edge switch 4, so 496 routes
// lead from it to others, 124 over each trunk, and 112 of the pod's 1,792 over each link to a core.
TEST(ChosenRoutes, AreSpreadEvenly) {
  const Topology machine = load_topology("fat-tree:8");
  const Topology flat = flatten(machine);
  ASSERT_TRUE(flat.underlay);
  EXPECT_EQ(flat.links.size(), 128U * 127);
  std::map<std::size_t, int> counts;
  for (const SharedLimit& limit : flat.limits) ++counts[limit.links.size()];
  EXPECT_EQ(counts, (std::map<std::size_t, int>{{112, 256}, {124, 256}, {127, 256}}));
}

// Switches of nodes and of rails are as far from a rank as each other, and no path through switches alone
// leads to other ranks of other nodes. A rank's digits are its GPU and its node: 1, 2, 4 GPUs on and 1, 2, 4,
// 8 nodes on are seven routes from each of 128 ranks, and all ranks are reached over them.
TEST(ChosenRoutes, NodesAndRailsAreDigits) {
  const ChosenRoutes chosen = chosen_routes(load_topology("dgx-h100:16"), RouteChoice::PowersOfTwo);
  EXPECT_EQ(chosen.choice, RouteChoice::PowersOfTwo);
  EXPECT_EQ(chosen.routes.size(), 128U * 7);
}

// A route that leads through a rank, a link that is wider than its route, a limit that is missing, and so on.
TEST(ChosenRoutes, ThatAreNoneAreRefused) {
  const Topology machine = load_topology("leaf-spine:3x2x2");
  const Topology good = flat_over(machine, chosen_routes(machine, RouteChoice::OneEach));
  ASSERT_TRUE(route_faults(good).empty());
  const auto refused = [&](const auto& change) {
    Topology bad = good;
    change(bad);
    return !route_faults(bad).empty();
  };
  EXPECT_TRUE(refused([](Topology& t) { t.links[3].bandwidth = 2; }));
  EXPECT_TRUE(refused([](Topology& t) { t.links[3].alpha_us = 0; }));
  EXPECT_TRUE(refused([](Topology& t) { std::swap(t.links[3].src, t.links[3].dst); }));
  EXPECT_TRUE(refused([](Topology& t) { t.underlay->routes[3].pop_back(); }));
  EXPECT_TRUE(refused([](Topology& t) { std::swap(t.underlay->routes[3], t.underlay->routes[4]); }));
  EXPECT_TRUE(refused([](Topology& t) { t.underlay->routes.pop_back(); }));
  EXPECT_TRUE(refused([](Topology& t) { t.underlay->routes[0][0] = 1000; }));
  EXPECT_TRUE(refused([](Topology& t) { t.limits.pop_back(); }));
  EXPECT_TRUE(refused([](Topology& t) { t.limits.front().bandwidth = 2; }));
  EXPECT_TRUE(refused([](Topology& t) { t.limits.front().links.pop_back(); }));
  EXPECT_TRUE(refused([](Topology& t) {
    t.underlay->limits.push_back({.name = "uplinks", .links = {0, 2}, .bandwidth = 1});
  }));
  EXPECT_TRUE(refused([](Topology& t) { t.limits.front().abilities.multicast = true; }));
  EXPECT_TRUE(refused([](Topology& t) {
    t.underlay->limits.push_back(
        {.name = "wide", .links = {0}, .bandwidth = 9, .abilities = {.reduce = true}});
  }));
}

// A file in which a switch below chosen routes multicasts or reduces was read without that word, and its
// bounds, which count every send, were accepted: an AllReduce in a star takes one round there, and was
// "proven" to take two.
TEST(ChosenRoutes, AbilitiesBelowAreRefusedByTheReader) {
  const Topology machine = load_topology("leaf-spine:3x2x2");
  const std::string text = to_json(flat_over(machine, chosen_routes(machine, RouteChoice::OneEach)));
  const std::size_t at = text.find("\"switches\": 5");
  ASSERT_NE(at, std::string::npos);
  for (const char* ability : {"multicast", "reduce"}) {
    std::string able = text;
    able.insert(at, fmt::format("\"{}\": [0],\n    ", ability));
    EXPECT_THROW(topology_from_json(able, "file"), InputError) << ability;
    able.replace(able.find("[0],"), 4, "[],");
    EXPECT_NO_THROW(topology_from_json(able, "file")) << ability;
  }
}

// A result of chosen routes is checked from its file alone, and what it states falsely of machine, routes or
// bounds is refused.
TEST(ChosenRoutes, ResultsAreCheckedAgainstTheMachineBelow) {
  const Topology machine = load_topology("leaf-spine:3x2x2");
  const Topology flat = flat_over(machine, chosen_routes(machine, RouteChoice::OneEach));
  for (const char* name : {"allgather", "reducescatter", "allreduce", "alltoall"}) {
    const Result found = search_frontier(flat, make_collective(name, 6, 1), {.max_chunks = 1});
    const Result read = result_from_json(to_json(found), "file");
    ASSERT_EQ(read, found) << name;
    ASSERT_FALSE(found.claims.empty());
    const auto faults = [&](const auto& change) {
      Result result = read;
      change(result);
      return check_result(result, "", {}).faults.size();
    };
    EXPECT_EQ(faults([](Result&) {}), 0U) << name;
    EXPECT_GT(faults([](Result& r) { ++r.claims.back().rounds; }), 0U) << name;
    EXPECT_GT(faults([](Result& r) { r.topology.limits.clear(); }), 0U) << name;
    EXPECT_GT(faults([](Result& r) {
                for (Link& link : r.topology.underlay->links) link.bandwidth = 1000;
              }),
              0U)
        << name;
    EXPECT_GT(faults([](Result& r) {
                for (Claim& claim : r.claims)
                  if (claim.certificate.kind == Certificate::Kind::Distance) claim.steps += 1;
              }),
              0U)
        << name;
    // A refutation is of the chosen routes only.
    EXPECT_GT(faults([](Result& r) {
                r.claims.back().certificate = {.kind = Certificate::Kind::Refutation};
                r.claims.back().steps = 2;
              }),
              0U)
        << name;
  }
}

// A machine with a shortcut below that nobody chose: two ranks of different leaves, joined by a wide switch
// over a longer route. Its bound is lower than that of the chosen routes, and a claim of theirs is refused.
TEST(ChosenRoutes, DoNotLowerWhatTheMachineCan) {
  // 0 and 1 on a switch of width 1; two more switches between them of width 3, a hop longer.
  Topology machine{.name = "detour", .ranks = 2, .switches = 3};
  const auto join = [&](Node a, Node b, int width) {
    machine.links.push_back({.src = a, .dst = b, .bandwidth = width});
    machine.links.push_back({.src = b, .dst = a, .bandwidth = width});
  };
  join(0, 2, 1);
  join(2, 1, 1);
  join(0, 3, 3);
  join(3, 4, 3);
  join(4, 1, 3);
  const Topology flat = flat_over(machine, chosen_routes(machine, RouteChoice::OneEach));
  ASSERT_EQ(flat.links.size(), 2U);
  const Collective c = make_collective("allgather", 2, 4);
  EXPECT_EQ(fewest_rounds(flat, c).rounds, 1);  // four chunks over 1 + 3
  Topology alone = flat;
  alone.underlay.reset();
  const Claim of_ways = fewest_rounds(alone, c);
  EXPECT_EQ(of_ways.rounds, 4);
  EXPECT_TRUE(fault(flat, c, of_ways));
}

}  // namespace
}  // namespace chorale
