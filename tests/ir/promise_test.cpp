#include "ir/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Promise, sums_name_every_rank_once) {
  const Collective asked = make_collective("allreduce", 3, 2);
  const Promise promise(asked);
  EXPECT_EQ(promise.places(), 6);
  EXPECT_THAT(*promise.wanted(2, 1), ElementsAre(Pair(1, 1), Pair(3, 1), Pair(5, 1)));
}

TEST(Promise, copies_name_one_rank) {
  const Collective asked = make_collective("allgather", 2, 1);
  const Promise promise(asked);
  EXPECT_THAT(*promise.wanted(0, 1), ElementsAre(Pair(promise.place(1, 0), 1)));
}

TEST(Promise, ranks_that_hold_the_same_data_are_one_place) {
  Collective c = make_collective("broadcast", 3, 1, 0);
  ASSERT_EQ(c.chunks.size(), 1U);
  c.chunks[0].pre = {0, 2};
  const Promise promise(c);
  EXPECT_EQ(promise.place(2, c.chunks[0].input), promise.place(0, c.chunks[0].input));
}

TEST(Promise, nothing_is_promised_where_nothing_comes) {
  const Collective asked = make_collective("reduce", 3, 1, 1);
  const Promise promise(asked);
  EXPECT_TRUE(promise.wanted(1, 0));
  EXPECT_FALSE(promise.wanted(0, 0));
}

TEST(Promise, a_difference_is_named) {
  const Collective asked = make_collective("allreduce", 2, 1);
  const Promise promise(asked);
  const SymbolicSum wanted = *promise.wanted(0, 0);
  EXPECT_EQ(promise.difference(wanted, {{0, 1}}), "lacks input[0] of rank 1");
  EXPECT_EQ(promise.difference(wanted, {{0, 1}, {1, 2}}), "counts input[0] of rank 1 2 times, not 1");
  EXPECT_EQ(promise.difference({{0, 1}}, wanted), "contains input[0] of rank 1, which does not belong there");
}

// Of three ranks and three chunks, chunk 1 of each vector goes to rank 1, and their sum, which is chunk 10,
// to all: that alone is promised, also where it is made.
TEST(Promise, SumsThatGoOnArePromisedInPlaceOfTheirTerms) {
  const Collective asked = make_collective("allreduce_in_phases", 3, 3);
  ASSERT_EQ(asked.chunks.size(), 12U);
  EXPECT_EQ(operands_of(asked)[10], (std::vector<Chunk>{1, 4, 7}));
  const Collective sums = make_collective("allreduce", 3, 3);
  const Promise promise(asked), of_sums(sums);
  for (const Rank n : {0, 1, 2}) {
    EXPECT_THAT(promise.chunks(n, 1), ElementsAre(10));
    EXPECT_EQ(promise.wanted(n, 1), of_sums.wanted(n, 1));
  }
}

// Everybody's vector, in two chunks, added up by all: the chunks of all ranks at one position.
TEST(Promise, copies_with_one_position_are_added) {
  const Collective asked = make_collective("allreduce_by_gather", 3, 2);
  const Promise promise(asked);
  EXPECT_THAT(promise.chunks(0, 1), ElementsAre(1, 3, 5));
  EXPECT_THAT(*promise.wanted(0, 1), ElementsAre(Pair(promise.place(0, 1), 1), Pair(promise.place(1, 1), 1),
                                                 Pair(promise.place(2, 1), 1)));
  EXPECT_EQ(promise.outputs(2).size(), 2U);
}

// Against a walk over all chunks, rank and slot, on odd collectives: some ranks, some positions, several
// owners.
TEST(Promise, says_what_the_chunks_say) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    Collective c{.custom_name = "random", .ranks = 1 + below(5), .combining = below(2) == 0};
    const int chunks = 1 + below(6);
    for (int i = 0; i < chunks; ++i) {
      std::vector<Rank> pre, post;
      for (Rank n = 0; n < c.ranks; ++n) {
        if (below(2) == 0) pre.push_back(n);
        if (below(2) == 0) post.push_back(n);
      }
      if (pre.empty()) pre = {below(c.ranks)};
      c.chunks.push_back({.pre = pre, .post = post, .input = i, .output = c.combining ? i : below(3)});
    }
    const Promise promise(c);
    for (Rank n = 0; n < c.ranks; ++n) {
      std::size_t met = 0;
      for (int slot = 0; slot < 6; ++slot) {
        std::map<int, int> sum;
        for (const ChunkSpec& spec : c.chunks) {
          if (spec.output != slot || !ends_at(spec, n)) continue;
          for (Rank from : spec.pre)
            if (c.combining || from == spec.pre.front()) ++sum[promise.place(from, spec.input)];
        }
        met += sum.empty() ? 0 : 1;
        const std::optional<SymbolicSum> wanted = promise.wanted(n, slot);
        EXPECT_EQ(wanted.has_value(), !sum.empty());
        EXPECT_EQ(wanted.value_or(SymbolicSum()), SymbolicSum(sum.begin(), sum.end()));
      }
      EXPECT_EQ(promise.outputs(n).size(), met);
      for (int i = 0; i < promise.inputs(n); ++i) {
        const int place = promise.place(n, i);
        const Promise::Input at = promise.input_at(place);
        EXPECT_EQ(promise.place(at.rank, at.slot), place);
      }
    }
  }
}

}  // namespace
}  // namespace chorale
