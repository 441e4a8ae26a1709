#include "pareto/optimality.h"

#include <gtest/gtest.h>

#include "topology/builders.h"

namespace chorale {
namespace {

Claim claim(int steps, int rounds, int chunks = 1, const std::string& name = "allgather") {
  return {.collective = known_kind(name), .chunks = chunks, .steps = steps, .rounds = rounds};
}

Result with_claims(std::vector<Claim> claims, int max_chunks = 1, const std::string& name = "allgather") {
  Result result{.topology = named_topology("ring:4"), .collective = make_collective(name, 4, 1)};
  result.space.max_chunks = max_chunks;
  result.claims = std::move(claims);
  return result;
}

Point point(int steps, int rounds, int chunks = 1, const std::string& name = "allgather") {
  return {.cost = {.steps = steps, .rounds = rounds, .chunks = chunks},
          .method = Method::Direct,
          .collective = make_collective(name, 4, chunks)};
}

TEST(RoundsLeft, NothingIsKnownWithoutClaims) {
  EXPECT_EQ(rounds_left(with_claims({}), CollectiveKind::Allgather, 1, 3), 0);
}

TEST(RoundsLeft, AClaimHoldsForFewerSteps) {
  const Result result = with_claims({claim(3, 5)});
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 3), 5);
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 2), 5);
}

// More steps than claimed are at least one round more than the claim's steps.
TEST(RoundsLeft, ForMoreStepsAClaimHoldsUpToItsSteps) {
  const Result result = with_claims({claim(3, 5)});
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 4), 4);
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 100), 4);
  EXPECT_EQ(rounds_left(with_claims({claim(3, 3)}), CollectiveKind::Allgather, 1, 100), 3);
  EXPECT_EQ(rounds_left(with_claims({claim(3, kNoSchedule)}), CollectiveKind::Allgather, 1, 100), 4);
  EXPECT_EQ(rounds_left(with_claims({claim(3, kNoSchedule)}), CollectiveKind::Allgather, 1, 3), kNoSchedule);
}

TEST(RoundsLeft, OtherChunksAndCollectivesSayNothing) {
  const Result result = with_claims({claim(3, 5, 2), claim(3, 5, 1, "broadcast")});
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 3), 0);
}

TEST(RoundsLeft, KSynchronousSchedulesHaveFewRounds) {
  Result result = with_claims({claim(3, 5)});
  result.space.extra_rounds = 1;
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 3), kNoSchedule);  // 5 > 3 + 1
  EXPECT_EQ(rounds_left(result, CollectiveKind::Allgather, 1, 4), 4);
}

bool is_proven(Result result, const Point& point) {
  result.points = {point};
  if (!point.on_frontier) {  // something that dominates it
    result.points.push_back(point);
    --result.points.back().cost.rounds;
  }
  mark(result);
  return result.points.back().proven;
}

TEST(IsProven, NeedsABoundOnRoundsAndOneOnSteps) {
  EXPECT_FALSE(is_proven(with_claims({}), point(2, 3)));
  EXPECT_FALSE(is_proven(with_claims({claim(2, 3)}), point(2, 3)));  // one step of three rounds may do
  EXPECT_FALSE(is_proven(with_claims({claim(1, kNoSchedule)}), point(2, 3)));
  EXPECT_TRUE(is_proven(with_claims({claim(2, 3), claim(1, kNoSchedule)}), point(2, 3)));
  EXPECT_TRUE(is_proven(with_claims({claim(2, 3), claim(1, 4)}), point(2, 3)));
  EXPECT_FALSE(is_proven(with_claims({claim(2, 3), claim(1, 3)}), point(2, 3)));  // as good with a step less
}

TEST(IsProven, OnTheFrontierAllChunkCountsCount) {
  const std::vector<Claim> one = {claim(2, 3), claim(1, kNoSchedule)};
  EXPECT_FALSE(is_proven(with_claims(one, 2), point(2, 3)));
  std::vector<Claim> both = one;
  both.push_back(claim(2, 6, 2));
  both.push_back(claim(1, kNoSchedule, 2));
  EXPECT_TRUE(is_proven(with_claims(both, 2), point(2, 3)));
  both[2] = claim(2, 5, 2);  // 5/2 < 3 is left possible
  EXPECT_FALSE(is_proven(with_claims(both, 2), point(2, 3)));
  Point dominated = point(2, 3);
  dominated.on_frontier = false;
  EXPECT_TRUE(is_proven(with_claims(both, 2), dominated));
}

// Two steps and three rounds of a direct AllReduce are not proven while its parts could do it in two.
TEST(IsProven, OfAllReduceAllFamiliesCount) {
  std::vector<Claim> claims = {claim(2, 3, 1, "allreduce"), claim(1, kNoSchedule, 1, "allreduce")};
  const Point direct = point(2, 3, 1, "allreduce");
  EXPECT_FALSE(is_proven(with_claims(claims, 1, "allreduce"), direct));
  claims.push_back(claim(2, 12));  // gathering takes 12, which with N = 4 is composed to 13/4 > 3 at least
  claims.push_back(claim(1, 13));
  claims.push_back(claim(1, 12, 1, "reducescatter"));
  EXPECT_TRUE(is_proven(with_claims(claims, 1, "allreduce"), direct));
}

// A claim of a bound for at most 3 steps leaves them to 4; the k of k-synchronous lets rounds in as steps
// grow.
TEST(Openings, AreWhatIsNeitherFoundNorExcluded) {
  Result result = with_claims({claim(1, kNoSchedule), claim(3, 5), claim(kAnySteps, 2)});
  mark(result);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.openings,
            (std::vector<Opening>{{.steps = 2, .bound = {5, 1}}, {.steps = 4, .bound = {4, 1}}}));
  result.points = {point(2, 5)};
  mark(result);
  EXPECT_EQ(result.openings, (std::vector<Opening>{{.steps = 4, .found = Rate{5, 1}, .bound = {4, 1}}}));
  EXPECT_TRUE(result.points[0].proven);
  EXPECT_EQ(result.points[0].bound, (Rate{5, 1}));
  result.points.push_back(point(4, 4));
  mark(result);
  EXPECT_TRUE(result.openings.empty());
  EXPECT_TRUE(result.complete);
  result.points.clear();
  result.space.extra_rounds = 1;  // 5 rounds need 4 steps; with 4 steps 4 rounds may do
  mark(result);
  EXPECT_EQ(result.openings, (std::vector<Opening>{{.steps = 4, .bound = {4, 1}}}));
  result.space.max_steps = 3;
  mark(result);
  EXPECT_TRUE(result.complete);  // and empty: impossible
}

TEST(Openings, WithoutClaimsEverythingIsOpen) {
  Result result = with_claims({});
  mark(result);
  EXPECT_EQ(result.openings, (std::vector<Opening>{{.steps = 0, .bound = {0, 1}}}));
  EXPECT_FALSE(result.complete);
}

// Those of the frontier come first, so that a list of them is numbered without gaps.
TEST(Mark, FindsWhatIsDominatedAndPutsItLast) {
  Result result = with_claims({}, 4);
  result.points = {point(3, 3, 1), point(2, 4, 1), point(2, 8, 2), point(3, 7, 4), point(4, 8, 4)};
  mark(result);
  std::vector<std::pair<Cost, bool>> marks;
  for (const Point& p : result.points) marks.emplace_back(p.cost, p.on_frontier);
  // Those on the frontier first, by steps; then the others by chunks.
  const std::vector<std::pair<Cost, bool>> expected = {
      {{2, 4, 1}, true}, {{3, 7, 4}, true}, {{3, 3, 1}, false}, {{2, 8, 2}, false}, {{4, 8, 4}, false}};
  EXPECT_EQ(marks, expected);
}

}  // namespace
}  // namespace chorale
