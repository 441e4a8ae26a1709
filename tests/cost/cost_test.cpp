#include "cost/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <random>

#include "cost/busbw.h"
#include "ir/group_collective.h"

namespace chorale {
namespace {

std::vector<SizeRange> best(const std::vector<Cost>& costs, double alpha, double beta) {
  return best_sizes(std::span<const Cost>(costs), alpha, beta);
}

// 3 steps of 2 us, and 7 rounds of a sixth of 6000 bytes at 0.001 us per byte: 6 + 7.
TEST(Time, CountsStepsAndRounds) {
  const Cost cost{.steps = 3, .rounds = 7, .chunks = 6};
  EXPECT_DOUBLE_EQ(time_us(cost, {.alpha_us = 2, .beta_us_per_byte = 0.001}, 6000), 13.0);
  Topology topology{.ranks = 2};
  topology.links = {{.src = 0, .dst = 1, .alpha_us = 2, .beta_us_per_byte = 0.0005},
                    {.src = 1, .dst = 0, .alpha_us = 1, .beta_us_per_byte = 0.001}};
  EXPECT_DOUBLE_EQ(time_us(cost, topology, 6000), 13.0);  // the worst alpha and the worst beta
}

// A call is paid once, whatever is moved: by a schedule, and by the bound on all of them.
TEST(Time, HasTheCall) {
  Topology line{.ranks = 2, .call_us = 6.5};
  line.links = {{.src = 0, .dst = 1, .alpha_us = 2, .beta_us_per_byte = 0.001}};
  const Cost cost{.steps = 3, .rounds = 7, .chunks = 6};
  EXPECT_DOUBLE_EQ(time_us(cost, line, 6000), 6.5 + 6 + 7);
  EXPECT_DOUBLE_EQ(time_us(cost, {.alpha_us = 2, .beta_us_per_byte = 0.001, .call_us = 6.5}, 0), 12.5);
  const Collective broadcast = make_collective("broadcast", 2, 1);
  EXPECT_DOUBLE_EQ(TimeBound(line, broadcast, 1).us(1000), 6.5 + 2 + 1);
  line.links.push_back({.src = 1, .dst = 0, .alpha_us = 1, .beta_us_per_byte = 0.001});
  EXPECT_DOUBLE_EQ(TimeBound(line, broadcast, 1).us(0), 6.5 + 2);  // links differ
  EXPECT_DOUBLE_EQ(TimeBound(line, broadcast, 1).us(5000), 6.5 + 5);
}

// From rank 0 to rank 2 are two links: no fewer steps. Claimed are 4 rounds per chunk of 2 steps, 2 of 3, and
// 1 of any number: 2 + 4b, 3 + 2b and 4 + b us for b bytes.
TEST(TimeBounds, StepsAndRoundsTogether) {
  Topology line{.ranks = 3};
  for (Rank n = 0; n < 2; ++n)
    line.links.push_back({.src = n, .dst = n + 1, .alpha_us = 1, .beta_us_per_byte = 1});
  const Collective broadcast = make_collective("broadcast", 3, 1);
  const std::vector<StepRate> claimed = {{.steps = 3, .rounds_per_chunk = 2},
                                         {.steps = 1, .rounds_per_chunk = 9},
                                         {.steps = 2, .rounds_per_chunk = 4}};
  const TimeBound bound(line, broadcast, 1, claimed);
  EXPECT_DOUBLE_EQ(bound.us(0), 2);
  EXPECT_DOUBLE_EQ(bound.us(0.25), 3);
  EXPECT_DOUBLE_EQ(bound.us(0.75), 4.5);
  EXPECT_DOUBLE_EQ(bound.us(10), 14);
  EXPECT_DOUBLE_EQ(TimeBound(line, broadcast, 1).us(10), 12);  // nothing is claimed of few steps
  // Where links differ, ranks need not be in one step at a time.
  line.links[1].beta_us_per_byte = 2;
  EXPECT_DOUBLE_EQ(TimeBound(line, broadcast, 1, claimed).us(10), 10);
}

// dgx1 Allgather: (2,2,1) costs 2a + 2bx, (2,3,2) 2a + 1.5bx, (3,7,6) 3a + 7/6 bx. The second is no worse
// than the first anywhere; the third overtakes it at a = (1.5 - 7/6) b x, that is x = 3 a / b.
TEST(BestSizes, OfAFrontier) {
  const std::vector<Cost> costs = {{2, 2, 1}, {2, 3, 2}, {3, 7, 6}};
  const std::vector<SizeRange> ranges = best(costs, 1.0, 0.001);
  EXPECT_TRUE(ranges[0].empty());
  EXPECT_EQ(ranges[1].from, 0);
  EXPECT_NEAR(ranges[1].to, 3000, 1e-6);
  EXPECT_EQ(ranges[2].from, ranges[1].to);
  EXPECT_EQ(ranges[2].to, kAnySize);
}

// Lines 1 + 4x, 2 + 3.5x, 3 + x: the first meets the third at x = 2/3, before it would meet the second at 2.
// No point dominates the second, but it is never the fastest.
TEST(BestSizes, EmptyAboveTheEnvelope) {
  const std::vector<SizeRange> ranges = best({{1, 4, 1}, {2, 7, 2}, {3, 1, 1}}, 1.0, 1.0);
  EXPECT_NEAR(ranges[0].to, 2.0 / 3, 1e-12);
  EXPECT_TRUE(ranges[1].empty());
  EXPECT_NEAR(ranges[2].from, 2.0 / 3, 1e-12);
}

// Lines 1 + 3x, 2 + 2x, 3 + x meet in one point, x = 1: nothing is left for the middle one.
TEST(BestSizes, ThreeLinesThroughOnePoint) {
  const std::vector<SizeRange> ranges = best({{1, 3, 1}, {2, 2, 1}, {3, 1, 1}}, 1.0, 1.0);
  EXPECT_EQ(ranges[0], (SizeRange{0, 1}));
  EXPECT_TRUE(ranges[1].empty());
  EXPECT_EQ(ranges[2], (SizeRange{1, kAnySize}));
}

TEST(BestSizes, TheFirstOfEquals) {
  const std::vector<SizeRange> ranges = best({{2, 2, 2}, {2, 1, 1}, {2, 3, 3}}, 1.0, 1.0);
  EXPECT_EQ(ranges[0], (SizeRange{0, kAnySize}));
  EXPECT_TRUE(ranges[1].empty());
  EXPECT_TRUE(ranges[2].empty());
}

// Free steps: the fewest rounds per chunk always; then the fewest steps. Free bytes: the fewest steps always.
TEST(BestSizes, WithoutAlphaOrBeta) {
  const std::vector<Cost> costs = {{1, 4, 1}, {3, 1, 1}, {2, 1, 1}};
  EXPECT_EQ(best(costs, 0, 1), (std::vector<SizeRange>{{}, {}, {0, kAnySize}}));
  EXPECT_EQ(best(costs, 1, 0), (std::vector<SizeRange>{{0, kAnySize}, {}, {}}));
  EXPECT_TRUE(best({}, 1, 1).empty());
}

TEST(BestSizes, OfPoints) {
  const std::vector<Point> points = {{.cost = {1, 3, 1}}, {.cost = {2, 1, 1}}};
  EXPECT_EQ(best_sizes(points, 2.0, 1.0), (std::vector<SizeRange>{{0, 1}, {1, kAnySize}}));
}

// Against trying all points at many sizes.
TEST(BestSizes, AgreesWithTryingAll) {
  constexpr unsigned seed = 71;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Cost> costs(1 + random() % 8);
    for (Cost& cost : costs)
      cost = {.steps = 1 + static_cast<int>(random() % 9),
              .rounds = 1 + static_cast<int>(random() % 30),
              .chunks = 1 + static_cast<int>(random() % 6)};
    const AlphaBeta model{.alpha_us = 1.0 * (random() % 4), .beta_us_per_byte = 0.25 * (random() % 3)};
    const std::vector<SizeRange> ranges = best(costs, model.alpha_us, model.beta_us_per_byte);
    for (double size = 0.013; size < 1000; size *= 1.37) {
      double fastest = kAnySize;
      for (const Cost& cost : costs) fastest = std::min(fastest, time_us(cost, model, size));
      int chosen = 0;
      for (std::size_t i = 0; i < costs.size(); ++i)
        if (ranges[i].from <= size && size < ranges[i].to) {
          ++chosen;
          EXPECT_NEAR(time_us(costs[i], model, size), fastest, 1e-9 * (1 + fastest));
        }
      EXPECT_EQ(chosen, 1) << "trial " << trial << ", size " << size;
    }
  }
}

TEST(Format, Ranges) {
  EXPECT_EQ(format_range({0, 1536}), "below 1.5 KiB");
  EXPECT_EQ(format_range({1536, 3 << 20}), "1.5 KiB to 3 MiB");
  EXPECT_EQ(format_range({3 << 20, kAnySize}), "from 3 MiB");
  EXPECT_EQ(format_range({0, kAnySize}), "any");
  EXPECT_EQ(format_range({5, 5}), "none");
}

// The table of nccl-tests' doc/PERFORMANCE.md for 8 ranks; Gather and Scatter as in its sources.
TEST(BusBandwidth, HasTheFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(busbw_factor(CollectiveKind::AllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(CollectiveKind::AllReduceByGather, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(CollectiveKind::Allgather, 1), 0);  // nothing has to move
  EXPECT_DOUBLE_EQ(busbw_factor(CollectiveKind::Broadcast, 1), 1);
  for (const char* name : {"allgather", "reducescatter", "alltoall", "gather", "scatter"})
    EXPECT_DOUBLE_EQ(busbw_factor(known_kind(name), 8), 0.875) << name;
  for (const CollectiveKind kind :
       {CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Custom})
    EXPECT_DOUBLE_EQ(busbw_factor(kind, 8), 1.0) << name_of(kind);
}

// Structure alone gives the factors of the table, and groups have those of their kind: nothing reads names.
TEST(BusBandwidth, OfGroupsIsThatOfTheirKind) {
  std::mt19937 dice(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int ranks = 2 + static_cast<int>(dice() % 7), chunks = 1 + static_cast<int>(dice() % 3);
    std::vector<Rank> all(ranks + dice() % 3);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), dice);
    const std::vector<Rank> group(all.begin(), all.begin() + ranks);
    for (const std::string& name : collective_names()) {
      const CollectiveKind kind = known_kind(name);
      Collective custom = make_collective(
          GroupQuestion{.kind = kind, .groups = {group}, .root = static_cast<int>(dice() % ranks)},
          static_cast<int>(all.size()));
      custom.kind = CollectiveKind::Custom;  // of everyone in order, too
      const MessageShape shape = message_shape(refined(custom, chunks));
      EXPECT_EQ(shape.blocks, blocks_of(kind, ranks)) << name << " of " << ranks;
      EXPECT_NEAR(shape.bus_factor, busbw_factor(kind, ranks), 1e-12) << name << " of " << ranks;
    }
  }
}

// The longest buffer of an Allgather of 3, 1, 0 and 2 chunks has six; the rank without
// any receives all of them.
TEST(BusBandwidth, OfCountsIsThatOfTheBusiestRank) {
  const MessageShape shape = message_shape(make_collective(
      GroupQuestion{.kind = CollectiveKind::Allgather, .groups = {{0, 1, 2, 3}}, .counts = {{3, 1, 0, 2}}},
      4));
  EXPECT_EQ(shape.blocks, 6);
  EXPECT_DOUBLE_EQ(shape.bus_factor, 1);
}

// Sizes that are no multiple are rounded up, and blocks are multiples.
TEST(Messages, HaveWholeBlocks) {
  const MessageShape shape = message_shape(make_collective(CollectiveKind::Allgather, 3, 2));
  const std::vector<std::pair<std::int64_t, std::int64_t>> blocks = {
      {0, 0}, {1, 1}, {3, 1}, {4, 2}, {1000, 334}, {INT64_MAX, INT64_MAX / 3 + 1}};
  for (const auto& [size, block] : blocks) EXPECT_EQ(block_of_size(shape, size), block) << size;
  EXPECT_EQ(size_of_block(shape, 334), 1002);
}

// A ring Allgather of 8 blocks of 1 MB takes 7 rounds of 1 MB; over links of 25 GB/s, without alpha, 280 us.
// Its bus bandwidth is that of the links: what the factor is for. The ring AllReduce of the same vector takes
// twice as long and has the same.
TEST(BusBandwidth, OfARingIsThatOfItsLinks) {
  const AlphaBeta model{.alpha_us = 0, .beta_us_per_byte = 1 / 25e3};
  const auto busbw = [](CollectiveKind kind, double size, double us) {
    return busbw_factor(kind, 8) * size / us / 1e3;
  };
  const double block = 1e6, size = block * blocks_of(CollectiveKind::Allgather, 8);
  EXPECT_DOUBLE_EQ(size, 8e6);
  const double gather = time_us({.steps = 7, .rounds = 7, .chunks = 1}, model, block);
  EXPECT_DOUBLE_EQ(gather, 280.0);
  EXPECT_DOUBLE_EQ(busbw(CollectiveKind::Allgather, size, gather), 25.0);
  EXPECT_EQ(blocks_of(CollectiveKind::AllReduce, 8), 1);
  const double reduce = time_us({.steps = 14, .rounds = 14, .chunks = 8}, model, size);
  EXPECT_DOUBLE_EQ(reduce, 560.0);
  EXPECT_DOUBLE_EQ(busbw(CollectiveKind::AllReduce, size, reduce), 25.0);
}

}  // namespace
}  // namespace chorale
