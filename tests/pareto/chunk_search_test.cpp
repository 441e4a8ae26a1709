#include "pareto/chunk_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

int fewest_rounds(const ChunkFrontier& known) {
  int fewest = kNoSchedule;
  for (const SharedPoint& point : known.points) fewest = std::min(fewest, point->cost.rounds);
  return fewest;
}

// What is quick is there before what takes seconds, and is kept by it; together they are what a search begins with.
TEST(ChunkSearch, QuickFirstThenGrown) {
  const Topology t = flatten(named_topology("dgx1"));
  const Collective c = make_collective("broadcast", t.ranks, 24);
  const FrontierOptions options;
  SearchClock clock(options);
  ChunkQuestion question{.topology = t, .collective = c};
  const ChunkFrontier first = begin_chunks(question, options, clock);
  ASSERT_FALSE(first.points.empty());
  question.begun = &first;
  const ChunkFrontier grown = grow_chunks(question, options, clock);
  EXPECT_LT(fewest_rounds(grown), fewest_rounds(first));
  EXPECT_EQ(grown.points.front()->cost.steps, first.points.front()->cost.steps);
  EXPECT_GT(grown.claims.size(), first.claims.size());
}

// Once it is over, what is quick and of a small machine is there, and nothing else.
TEST(ChunkSearch, NothingGrowsWhenItIsOver) {
  const Topology t = flatten(named_topology("dgx1"));
  const Collective c = make_collective("allgather", t.ranks, 6);
  const std::atomic<bool> stop = true;
  FrontierOptions options;
  options.synthesis.limits.stop = &stop;
  SearchClock clock(options);
  ChunkQuestion question{.topology = t, .collective = c};
  EXPECT_TRUE(begin_chunks(question, options, clock).points.empty());
  question.always = true;
  const ChunkFrontier first = begin_chunks(question, options, clock);
  EXPECT_EQ(first.points.size(), 1u);
  question.begun = &first;
  EXPECT_EQ(grow_chunks(question, options, clock).points, first.points);
}

}  // namespace
}  // namespace chorale
