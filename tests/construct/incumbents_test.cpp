// Incumbents where the optimum is known, and at the ends of what can be asked;
// tests/property has random ones.
#include "construct/incumbents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Collective sum(int ranks, std::vector<Rank> pre, std::vector<Rank> post) {
  return {.custom_name = "sum", .ranks = ranks, .combining = true, .chunks = {{.pre = pre, .post = post}}};
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
  EXPECT_EQ(quick_incumbents(test::ring(1000), make_collective("allreduce", 1000, 1)).size(), 1u);
  EXPECT_THAT(incumbents(test::ring(3000), make_collective("reducescatter", 3000, 1)), IsEmpty());
}

}  // namespace
}  // namespace chorale
