// Compositions on machines of every kind, verified by the verifier; and sends in other steps, which do what
// they did.
#include "construct/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "construct/incumbents.h"
#include "construct/retiming.h"
#include "semantics/verify.h"
#include "tests/kit/random.h"
#include "tests/kit/refusal.h"
#include "topology/levels.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using test::between;
using ::testing::IsEmpty;
using ::testing::Not;

Topology load(const std::string& name) {
  return flatten(load_topology(name));
}

// Two or three levels of two or three each: switches and rings, ports and ways out of any width, rails.
Hierarchy random_levels(std::mt19937& random) {
  Hierarchy h{.name = "random"};
  for (int levels = between(random, 2, 3); levels > 0; --levels) {
    Level level{.name = "level" + std::to_string(levels), .fan_out = between(random, 2, 3)};
    level.link.bandwidth_gbs = between(random, 1, 6);
    level.link.latency_us = 1;
    if (between(random, 0, 2) == 0) level.link.shape = LinkModel::Shape::Ring;
    if (level.link.shape == LinkModel::Shape::Switch && between(random, 0, 1) == 0 && levels > 1)
      level.link.rails = true;
    if (between(random, 0, 1) == 0)
      level.link.exit = SharedPath{.bandwidth_gbs = static_cast<double>(between(random, 1, 6)),
                                   .children = between(random, 0, 1) == 0 ? 1 : level.fan_out};
    h.levels.push_back(level);
  }
  return h;
}

Nesting nesting_of(const Hierarchy& h) {
  Nesting nesting;
  for (const Level& level : h.levels) {
    nesting.names.push_back(level.name);
    nesting.fan_outs.push_back(level.fan_out);
  }
  return nesting;
}

void hold(const Topology& t, const Collective& c, const std::vector<ComposedPoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i].point;
    EXPECT_THAT(violations(t, c, point.schedule), IsEmpty()) << points[i].outline;
    EXPECT_EQ(point.cost.steps, std::ssize(point.schedule.steps));
    EXPECT_EQ(point.cost.rounds, total_rounds(point.schedule));
    if (i > 0) {
      EXPECT_LT(points[i - 1].point.cost.steps, point.cost.steps);
      EXPECT_GT(points[i - 1].point.cost.rounds, point.cost.rounds);
    }
  }
}

// Every collective is composed on every machine with levels: switches join all children, rings with more
// hops.
TEST(Composition, OnRandomHierarchies) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Hierarchy h = random_levels(random);
    const Topology t = graph_of(h);
    for (const std::string& name : collective_names()) {
      SCOPED_TRACE(name);
      const Collective c =
          make_collective(name, t.ranks, between(random, 1, 4), between(random, 0, t.ranks - 1));
      const std::vector<ComposedPoint> points = compose_on({.topology = t, .collective = c}, {nesting_of(h)});
      EXPECT_THAT(points, Not(IsEmpty()));
      hold(t, c, points);
    }
  }
}

// Rows and columns of machines without levels are levels for this.
TEST(Composition, OnRowsAndColumns) {
  for (const auto& [name, fan_outs] :
       std::vector<std::pair<std::string, std::vector<int>>>{{"hypercube:3", {2, 4}},
                                                             {"torus:4x4", {4, 4}},
                                                             {"hypercube:4", {2, 2, 4}},
                                                             {"mesh:2x4", {2, 4}}}) {
    SCOPED_TRACE(name);
    const Topology t = load(name);
    Nesting nesting{.names = {"a", "b", "c"}, .fan_outs = fan_outs};
    nesting.names.resize(fan_outs.size());
    for (const char* collective : {"allgather", "allreduce", "alltoall"}) {
      const Collective c = make_collective(collective, t.ranks, 2);
      const std::vector<ComposedPoint> points = compose_on({.topology = t, .collective = c}, {nesting});
      EXPECT_THAT(points, Not(IsEmpty()));
      hold(t, c, points);
    }
  }
}

// Divisions that are found in the graph alone.
TEST(Composition, OnDivisionsOfNamedMachines) {
  for (const char* name : {"dgx2:2", "dgx1:2", "dgx-a100:3"}) {
    SCOPED_TRACE(name);
    const Topology t = load(name);
    const std::vector<Nesting> divisions = nestings(t);
    EXPECT_THAT(divisions, Not(IsEmpty()));
    const Collective c = make_collective("allgather", t.ranks, 1);
    const std::vector<ComposedPoint> points = compose_on({.topology = t, .collective = c}, divisions);
    EXPECT_THAT(points, Not(IsEmpty()));
    hold(t, c, points);
  }
}

// Two nodes of two ranks on rails, two chunks per round inside and one across. Each rank gets 8 chunks over
// its NIC, which takes 8 rounds, and 16 over the link inside, which takes 8. Of these the 8 of its neighbour
// may come while others cross; the 8 that crossed come after: in two steps 4 rounds after the 8, and
// overlapped one, for the last of them.
TEST(Composition, OverlapsLevelsOverChunks) {
  Topology t{.name = "rails", .ranks = 4};
  for (const auto& [a, b] : {std::pair(0, 1), {2, 3}, {0, 2}, {1, 3}}) {
    t.links.push_back({.src = a, .dst = b, .bandwidth = b - a == 1 ? 2 : 1});
    t.links.push_back({.src = b, .dst = a, .bandwidth = b - a == 1 ? 2 : 1});
  }
  const Collective c = make_collective("allgather", 4, 8);
  const Nesting nesting{.names = {"node", "gpu"}, .fan_outs = {2, 2}};
  const Outline outline = outline_in("allgather node, allgather gpu", nesting, "test");
  const std::vector<ComposedPoint> points = compose({.topology = t, .collective = c}, outline, "test");
  ASSERT_THAT(points, Not(IsEmpty()));
  EXPECT_EQ(points.front().point.cost.steps, 2);
  EXPECT_EQ(points.front().point.cost.rounds, 12);
  EXPECT_EQ(points.back().point.cost.rounds, 9);
  EXPECT_EQ(points.front().outline, "allgather node, allgather gpu");
}

// What does not come to the collective is reported in a sentence, as is what is no outline.
TEST(Composition, RefusesWhatIsNone) {
  const Topology t = load("a100:2");
  const Collective c = make_collective("allgather", t.ranks, 1);
  const Nesting nesting{.names = {"node", "gpu"}, .fan_outs = {2, 16}};
  const auto why = [&](const std::string& text) {
    return test::refusal_of([&] {
      compose({.topology = t, .collective = c}, outline_in(text, nesting, "--outline"), "--outline");
    });
  };
  EXPECT_EQ(why("allgather node, allgather gpu"), "");
  EXPECT_THAT(why("allgather gpu"), ::testing::HasSubstr("do not make this allgather"));
  EXPECT_THAT(why("allgather gpus"), ::testing::HasSubstr("did you mean 'gpu'"));
  EXPECT_THAT(why("allgather"), ::testing::HasSubstr("is not a stage"));
  EXPECT_THAT(why("allgather gpu+gpu"), ::testing::HasSubstr("twice"));
  EXPECT_THAT(why("gather node, allgather gpu"), ::testing::HasSubstr("do not make this allgather"));
}

TEST(Nestings, WideLinksAreInside) {
  EXPECT_EQ(nestings(load("a100:2")).front().fan_outs, (std::vector<int>{2, 16}));
  EXPECT_EQ(nestings(load("dgx1:2")).front().fan_outs, (std::vector<int>{2, 8}));
  EXPECT_EQ(nestings(load("dgx-a100:4")).front().fan_outs, (std::vector<int>{4, 8}));
  EXPECT_THAT(nestings(load("ring:7")), IsEmpty());
  EXPECT_THAT(nestings(load("torus:4x4")), IsEmpty());  // nothing is inside
}

// The sends of a schedule in other steps, of at most this many rounds, do what they did; there are just as
// many.
TEST(Retiming, KeepsWhatIsDone) {
  for (const char* name : {"dgx1", "ring:5", "hub:4", "hypercube:3", "mesh:2x3"})
    for (const std::string& collective : collective_names()) {
      SCOPED_TRACE(std::string(name) + " " + collective);
      const Topology t = load(name);
      const Collective c = make_collective(collective, t.ranks, 3, t.ranks - 1);
      for (const Point& point : incumbents(t, c)) {
        WorkBudget effort(1'000'000, nullptr);
        const auto sends = [](const Schedule& schedule) {
          std::size_t count = 0;
          for (const Step& step : schedule.steps) count += step.sends.size();
          return count;
        };
        const std::vector<Schedule> all = retimings(t, point.schedule, effort);
        EXPECT_THAT(all, Not(IsEmpty()));
        for (const Schedule& schedule : all) {
          EXPECT_THAT(violations(t, c, schedule), IsEmpty()) << name_of(point.method);
          EXPECT_EQ(sends(schedule), sends(point.schedule));
        }
      }
    }
}

}  // namespace
}  // namespace chorale
