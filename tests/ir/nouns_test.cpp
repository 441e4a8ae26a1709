#include <gtest/gtest.h>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {
namespace {

TEST(Topology, ReversedTwiceIsTheSame) {
  Topology t{.name = "t", .ranks = 3, .links = {{.src = 0, .dst = 1}, {.src = 1, .dst = 2, .bandwidth = 3}}};
  t.limits = {{.name = "out 1", .links = {1}, .bandwidth = 2}};
  const Topology back = reversed(t);
  EXPECT_EQ(back.links[1].src, 2);
  EXPECT_EQ(back.links[1].bandwidth, 3);
  EXPECT_EQ(back.limits[0].links, t.limits[0].links);
  EXPECT_EQ(reversed(back).links, t.links);
  EXPECT_EQ(find_link(t, 1, 2), 1);
  EXPECT_EQ(find_link(t, 2, 1), -1);
  EXPECT_EQ(hops(t, {0}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(hops(t, {2}), (std::vector<int>{-1, -1, 0}));
}

// What a block is, by collective: the numbers of chunks and who holds and needs them.
TEST(Collective, HasTheChunksOfItsName) {
  const int n = 4, c = 3;
  const auto chunks = [&](const std::string& name) { return make_collective(name, n, c, 1).chunks.size(); };
  EXPECT_EQ(chunks("broadcast"), 3u);
  EXPECT_EQ(chunks("reduce"), 3u);
  EXPECT_EQ(chunks("allreduce"), 3u);
  EXPECT_EQ(chunks("allgather"), 12u);
  EXPECT_EQ(chunks("reducescatter"), 12u);
  EXPECT_EQ(chunks("scatter"), 12u);
  EXPECT_EQ(chunks("gather"), 12u);
  EXPECT_EQ(chunks("alltoall"), 48u);
  for (const ChunkSpec& spec : make_collective("broadcast", n, c, 1).chunks)
    EXPECT_EQ(spec.pre, RankSet({1}));
  const Collective sum = make_collective("allreduce", n, c);
  EXPECT_TRUE(sum.combining);
  EXPECT_EQ(sum.chunks[0].pre, RankSet({0, 1, 2, 3}));
  EXPECT_EQ(sum.chunks[0].post, RankSet({0, 1, 2, 3}));
  for (Rank r = 0; r < n; ++r) {
    EXPECT_EQ(input_chunks(make_collective("alltoall", n, c), r), n * c);
    EXPECT_EQ(output_chunks(make_collective("allgather", n, c), r), n * c);
    EXPECT_EQ(output_chunks(make_collective("reducescatter", n, c), r), c);
    EXPECT_EQ(output_chunks(make_collective("gather", n, c, 1), r), r == 1 ? n * c : 0);
  }
}

TEST(Collective, RefusesWhatMakesNoSense) {
  EXPECT_THROW(make_collective("allsum", 4, 1), InputError);
  EXPECT_THROW(make_collective("allgather", 0, 1), InputError);
  EXPECT_THROW(make_collective("allgather", 4, 0), InputError);
  EXPECT_THROW(make_collective("broadcast", 4, 1, 4), InputError);
  EXPECT_THROW(make_collective("broadcast", 4, 1, -1), InputError);
}

TEST(Collective, DualTwiceIsTheSame) {
  const Collective scatter = make_collective("reducescatter", 4, 2);
  const Collective copies = dual(scatter);
  EXPECT_FALSE(copies.combining);
  EXPECT_EQ(copies.chunks[0].pre, scatter.chunks[0].post);
  EXPECT_EQ(dual(copies).chunks, scatter.chunks);
}

TEST(Schedule, ReversedRunsBackwards) {
  const Schedule there{.steps = {{.rounds = 1, .sends = {{.chunk = 0, .link = 0}}},
                                 {.rounds = 2, .sends = {{.chunk = 0, .link = 1}, {.chunk = 1, .link = 0}}}}};
  const Schedule back = reversed(there, true);
  EXPECT_EQ(total_rounds(back), 3);
  EXPECT_EQ(back.steps[0].rounds, 2);
  EXPECT_TRUE(back.steps[1].sends[0].reduce);
  EXPECT_EQ(reversed(back, false), there);
}

TEST(Cost, IsComparedExactly) {
  EXPECT_EQ(compare_rate({.rounds = 7, .chunks = 6}, {.rounds = 14, .chunks = 12}), 0);
  EXPECT_LT(compare_rate({.rounds = 7, .chunks = 6}, {.rounds = 6, .chunks = 5}), 0);
  EXPECT_GT(compare_rate({.rounds = 2'000'000'000, .chunks = 1'999'999'999},
                         {.rounds = 1'999'999'999, .chunks = 1'999'999'998}) *
                -1,
            0);
  EXPECT_TRUE(dominates({.steps = 2, .rounds = 3, .chunks = 2}, {.steps = 2, .rounds = 2, .chunks = 1}));
  EXPECT_FALSE(dominates({.steps = 2, .rounds = 3, .chunks = 2}, {.steps = 2, .rounds = 6, .chunks = 4}));
  EXPECT_FALSE(dominates({.steps = 3, .rounds = 3, .chunks = 3}, {.steps = 2, .rounds = 2, .chunks = 1}));
}

}  // namespace
}  // namespace chorale
