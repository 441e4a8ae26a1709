// Compositions that are known by hand, and what is none; tests/property has random ones.
#include "construct/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/refusal.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

Topology load(const std::string& name) {
  return flatten(load_topology(name));
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

// Of 8 ranks that are all linked, the root scatters 7 chunks, one to each other, which these exchange: a
// round each. Without parts of its own it would take two to be spread.
TEST(Composition, ABroadcastIsScatteredAndGathered) {
  const Topology t = load("full:8");
  for (const bool quick : {false, true}) {
    const std::vector<ComposedPoint> points =
        compose_on({.topology = t, .collective = make_collective("broadcast", 8, 7, 3), .quick = quick}, {});
    ASSERT_THAT(points, Not(IsEmpty()));
    EXPECT_EQ(points.front().point.cost, (Cost{.steps = 2, .rounds = 2, .chunks = 7}));
    EXPECT_EQ(points.front().outline, "scatter rank, allgather rank");
  }
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

}  // namespace
}  // namespace chorale
