// What switches that copy and add are asked for, and what is left by links alone, on random machines; here
// since both are in the result of a search (api/search.h).
#include "ir/links_alone.h"

#include <gtest/gtest.h>

#include <random>

#include "api/search.h"
#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "ir/json.h"
#include "ir/undominated.h"
#include "ir/work.h"
#include "pareto/check.h"
#include "semantics/verify.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Units of ranks on a switch each, with cables of mixed rates, and rails between equal positions.
Topology random_units(std::mt19937& random) {
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const int units = 1 + below(3), size = 2 + below(units == 1 ? 7 : 4);
  Topology t{.name = "units", .ranks = units * size, .switches = units};
  t.abilities.assign(units, {true, true});
  t.switch_gain = below(4) == 0 ? 0 : 1 + below(4) / 4.0;
  const bool even = below(2) == 0;
  for (Rank n = 0; n < t.ranks; ++n) {
    const int width = even ? 4 : 1 + below(6);
    t.links.push_back({.src = n, .dst = t.ranks + n / size, .bandwidth = width});
    t.links.push_back({.src = t.ranks + n / size, .dst = n, .bandwidth = width});
    for (int u = 0; u < units; ++u)
      if (u != n / size) t.links.push_back({.src = n, .dst = u * size + n % size, .bandwidth = 1 + below(3)});
  }
  return t;
}

// What is made for the switches is a schedule of the machine; what is made for links alone stays one, in as
// few rounds; nothing is below the bound; and an executor by links alone has the rounds that its sends need.
TEST(LinksAlone, SchedulesOfRandomUnitsAreSoundAndNeverSlowerThanByLinks) {
  std::mt19937 random(17);
  int in_switches = 0;
  for (int i = 0; i < 60; ++i) {
    const Topology t = flatten(random_units(random)), plain = by_links_alone(t);
    const std::vector<std::string> names = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
    const std::string& name = names[i % names.size()];
    const int chunks = name == "allreduce" ? t.ranks : 1 + i % 4;
    const Collective collective = make_collective(name, t.ranks, chunks);
    const std::string where = name + " " + to_json(t);
    const int bound = fewest_rounds(t, collective).rounds;
    for (const Point& point : switch_incumbents(t, collective)) {
      EXPECT_TRUE(violations(t, collective, point.schedule, 1).empty()) << where;
      EXPECT_GE(point.cost.rounds, bound) << where;
      const bool uses = uses_abilities(t, point.schedule);
      in_switches += uses ? 1 : 0;
      const Result alone = by_links_alone(Result{.topology = t, .collective = collective, .points = {point}});
      EXPECT_EQ(alone.topology, plain);
      EXPECT_TRUE(violations(plain, collective, alone.points.front().schedule, 1).empty()) << where;
      EXPECT_EQ(alone.points.front().cost.rounds > point.cost.rounds, uses) << where;
    }
    for (const Point& point : incumbents(plain, collective)) {
      EXPECT_TRUE(violations(t, collective, point.schedule, 1).empty()) << where;
      EXPECT_GE(point.cost.rounds, bound) << where;
      EXPECT_FALSE(uses_abilities(t, point.schedule)) << where;
    }
    if (t.ranks > 5) continue;
    const FrontierOptions quick{.max_chunks = chunks, .synthesis = {.limits = {.conflicts = 0}}};
    const Collective one = make_collective(name, t.ranks, 1);
    const Result both = frontier(Machine(t), one, quick), links = frontier(Machine(plain), one, quick);
    for (const Point& point : links.points)
      EXPECT_TRUE(std::ranges::any_of(both.points, [&](const Point& other) {
        return is_as_good(other.cost, point.cost);
      })) << where;
    EXPECT_TRUE(check_result(both, "", {}).faults.empty()) << where;
  }
  EXPECT_GT(in_switches, 8);
}

// A caller can ask for what there is before anything is searched: on 128 ranks what is made for links alone
// took 48 seconds of the processor before the first answer. It is counted as effort, and made at any effort.
TEST(LinksAlone, AreMadeAfterTheFirstAnswerAndWithinTheEffort) {
  const Machine machine(flatten(load_topology("dgx-h100:2")));
  const long long before = work_done();
  long long until_published = -1;
  const Result result = frontier(machine, make_collective("allreduce", 16, 1),
                                 {.effort = 16, .publish = [&](const auto& so_far) {
                                    until_published = work_done() - before;
                                    EXPECT_FALSE(so_far().points.empty());
                                  }});
  EXPECT_GE(until_published, 0);
  EXPECT_LT(until_published, 1'000'000);
  EXPECT_LT(work_done() - before, 50'000'000);
  const auto has = [&](bool uses) {
    return std::ranges::any_of(result.points, [&](const Point& point) {
      return !point.construction.empty() && uses_abilities(machine, point.schedule) == uses;
    });
  };
  EXPECT_TRUE(has(true) && has(false));
}

}  // namespace
}  // namespace chorale
