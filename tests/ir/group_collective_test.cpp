// Collectives of groups and with counts against what MPI's standard states of each rank's buffers.
#include "ir/group_collective.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

using Kind = CollectiveKind;

TEST(GroupCollective, EveryoneWithoutCountsIsTheKind) {
  for (const std::string& name : collective_names()) {
    const Kind kind = known_kind(name);
    EXPECT_EQ(make_collective({.kind = kind, .groups = {{0, 1, 2, 3}}, .root = 2}, 4),
              make_collective(kind, 4, 1, 2));
    // Of other ranks, or numbered otherwise, it is not, and has as many chunks.
    const Collective some = make_collective({.kind = kind, .groups = {{5, 1, 3}}, .root = 2}, 6);
    const Collective three = make_collective(kind, 3, 1, 2);
    EXPECT_TRUE(is_custom(some));
    EXPECT_EQ(name_of(some), name + " of 5,1,3");
    EXPECT_EQ(some.combining, three.combining);
    const std::vector<Rank> group = {5, 1, 3};
    ASSERT_EQ(some.chunks.size(), three.chunks.size());
    for (std::size_t c = 0; c < some.chunks.size(); ++c) {
      std::vector<Rank> pre, post;
      for (const Rank n : three.chunks[c].pre) pre.push_back(group[n]);
      for (const Rank n : three.chunks[c].post) post.push_back(group[n]);
      EXPECT_EQ(some.chunks[c], (ChunkSpec{pre, post, three.chunks[c].input, three.chunks[c].output}));
    }
  }
}

TEST(GroupCollective, Names) {
  const std::vector<std::vector<Rank>> two = {{0, 1}, {2, 3}};
  EXPECT_EQ(name_of(make_collective({.kind = Kind::Allgather, .groups = two}, 4)), "allgather of 2 groups");
  EXPECT_EQ(name_of(make_collective({.kind = Kind::Allgather, .groups = two, .groups_name = "row"}, 4)),
            "allgather of each row");
  EXPECT_EQ(
      name_of(make_collective({.kind = Kind::ReduceScatter, .groups = {{0, 1}}, .counts = {{1, 2}}}, 2)),
      "reducescatterv");
  std::vector<Rank> many(20);
  for (Rank n = 0; n < 20; ++n) many[n] = n + 1;
  EXPECT_EQ(name_of(make_collective({.kind = Kind::AllReduce, .groups = {many}}, 21)),
            "allreduce of 20 ranks");
}

// Chunk k of what rank s has for rank d lies in the input behind what s has for those before d, and in the
// output behind what comes from those before s.
TEST(GroupCollective, CountsArePlacesAsInMpi) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int n = 1 + static_cast<int>(random() % 5), ranks = n + static_cast<int>(random() % 3);
    std::vector<Rank> group(ranks);
    for (Rank r = 0; r < ranks; ++r) group[r] = r;
    std::shuffle(group.begin(), group.end(), random);
    group.resize(n);
    std::vector<int> counts(n * n);
    int all = 0;
    for (int& count : counts) all += count = static_cast<int>(random() % 4);
    if (all == 0) continue;
    const Collective c =
        make_collective({.kind = Kind::Alltoall, .groups = {group}, .counts = {counts}}, ranks);
    ASSERT_EQ(static_cast<int>(c.chunks.size()), all);
    std::size_t at = 0;
    for (int s = 0; s < n; ++s)
      for (int d = 0; d < n; ++d)
        for (int k = 0; k < counts[s * n + d]; ++k, ++at) {
          int input = k, output = k;
          for (int other = 0; other < d; ++other) input += counts[s * n + other];
          for (int other = 0; other < s; ++other) output += counts[other * n + d];
          EXPECT_EQ(c.chunks[at], (ChunkSpec{{group[s]}, {group[d]}, input, output}));
        }
    // What is written is read back.
    EXPECT_EQ(collective_from_json(to_json(c), "c.json", ranks), c);
  }
}

TEST(GroupCollective, CountsOfOneRankEach) {
  const std::vector<std::vector<Rank>> group = {{4, 2, 0}};
  const std::vector<std::vector<int>> counts = {{2, 0, 1}};
  const RankSet all = {0, 2, 4};
  EXPECT_EQ(make_collective({.kind = Kind::Allgather, .groups = group, .counts = counts}, 5).chunks,
            (std::vector<ChunkSpec>{{{4}, all, 0, 0}, {{4}, all, 1, 1}, {{0}, all, 0, 2}}));
  EXPECT_EQ(make_collective({.kind = Kind::ReduceScatter, .groups = group, .counts = counts}, 5).chunks,
            (std::vector<ChunkSpec>{{all, {4}, 0, 0}, {all, {4}, 1, 1}, {all, {0}, 2, 0}}));
  EXPECT_EQ(make_collective({.kind = Kind::Gather, .groups = group, .root = 1, .counts = counts}, 5).chunks,
            (std::vector<ChunkSpec>{{{4}, {2}, 0, 0}, {{4}, {2}, 1, 1}, {{0}, {2}, 0, 2}}));
  EXPECT_EQ(make_collective({.kind = Kind::Scatter, .groups = group, .root = 1, .counts = counts}, 5).chunks,
            (std::vector<ChunkSpec>{{{2}, {4}, 0, 0}, {{2}, {4}, 1, 1}, {{2}, {0}, 2, 0}}));
}

TEST(GroupCollective, ManyOrNoChunksAreRefused) {
  EXPECT_THROW(make_collective({.kind = Kind::Allgather, .groups = {{0, 1}}, .counts = {{0, 0}}}, 2),
               InputError);
  EXPECT_THROW(make_collective({.kind = Kind::Allgather, .groups = {{0, 1}}, .counts = {{1'000'000, 1}}}, 2),
               InputError);
}

TEST(GroupCollective, CountsAreReadBack) {
  const std::vector<std::vector<Rank>> all = {{0, 1, 2, 3}};
  const std::vector<int> counts = {2, 0, 1, 3};
  for (const Kind kind : {Kind::Allgather, Kind::ReduceScatter})
    EXPECT_EQ(counts_of(make_collective({.kind = kind, .groups = all, .counts = {counts}}, 4)), counts);
  EXPECT_TRUE(counts_of(make_collective(Kind::Allgather, 4, 1)).empty());
  EXPECT_TRUE(
      counts_of(make_collective({.kind = Kind::Gather, .groups = all, .counts = {counts}}, 4)).empty());
  EXPECT_TRUE(
      counts_of(make_collective({.kind = Kind::Allgather, .groups = {{0, 1, 2, 3}}, .counts = {counts}}, 5))
          .empty());
  // One that is called so, and puts what comes elsewhere.
  Collective other = make_collective({.kind = Kind::Allgather, .groups = all, .counts = {counts}}, 4);
  std::swap(other.chunks[0].output, other.chunks[2].output);
  EXPECT_TRUE(counts_of(other).empty());
}

TEST(GroupCollective, NamesWithCounts) {
  EXPECT_EQ(kind_with_counts("allgatherv"), Kind::Allgather);
  EXPECT_EQ(kind_with_counts("reducescatterv"), Kind::ReduceScatter);
  EXPECT_FALSE(kind_with_counts("allgather"));
  EXPECT_EQ(counted_names(),
            (std::vector<std::string>{"scatterv", "gatherv", "allgatherv", "alltoallv", "reducescatterv"}));
}

}  // namespace
}  // namespace chorale
