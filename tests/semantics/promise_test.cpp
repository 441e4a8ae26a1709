#include "semantics/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Promise, sums_name_every_rank_once) {
  const Promise promise(make_collective("allreduce", 3, 2));
  EXPECT_EQ(promise.places(), 6);
  EXPECT_THAT(*promise.output(2, 1), ElementsAre(Pair(1, 1), Pair(3, 1), Pair(5, 1)));
}

TEST(Promise, copies_name_one_rank) {
  const Promise promise(make_collective("allgather", 2, 1));
  EXPECT_THAT(*promise.output(0, 1), ElementsAre(Pair(promise.place(1, 0), 1)));
}

TEST(Promise, ranks_that_hold_the_same_data_are_one_place) {
  Collective c = make_collective("broadcast", 3, 1, 0);
  ASSERT_EQ(c.chunks.size(), 1U);
  c.chunks[0].pre = {0, 2};
  const Promise promise(c);
  EXPECT_EQ(promise.place(2, c.chunks[0].input), promise.place(0, c.chunks[0].input));
}

TEST(Promise, nothing_is_promised_where_nothing_comes) {
  const Promise promise(make_collective("reduce", 3, 1, 1));
  EXPECT_NE(promise.output(1, 0), nullptr);
  EXPECT_EQ(promise.output(0, 0), nullptr);
}

TEST(Promise, a_difference_is_named) {
  const Promise promise(make_collective("allreduce", 2, 1));
  const SymbolicSum& wanted = *promise.output(0, 0);
  EXPECT_EQ(promise.difference(wanted, {{0, 1}}), "lacks input[0] of rank 1");
  EXPECT_EQ(promise.difference(wanted, {{0, 1}, {1, 2}}), "counts input[0] of rank 1 2 times, not 1");
  EXPECT_EQ(promise.difference({{0, 1}}, wanted), "contains input[0] of rank 1, which does not belong there");
}

}  // namespace
}  // namespace chorale
