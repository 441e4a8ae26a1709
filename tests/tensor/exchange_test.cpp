// The exchanges of emitted workloads (tensor/exchange/exchange.h) on threads, and on ranks that share heaps,
// by constructed programs of all collectives on small machines, over blocks of random lengths, some of them
// empty: compared with sums and copies that are made in a row.
#include "tensor/exchange/exchange.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "construct/baselines/classic.h"
#include "construct/incumbents.h"
#include "runtime/exchange/threads.h"
#include "tensor/lowering/places.h"
#include "tests/codegen/passes_alone.h"
#include "tests/semantics/machines.h"
#include "tests/tensor/shared_room.h"

namespace chorale::test {
namespace {

// Rows that live as long as what runs by them.
struct Tables {
  const ExchangeRows rows;
  const StepTables tables = rows.steps.tables();

  Tables(const Verified<Program>& program, bool applies)
      : rows(exchange_rows("test", program, applies).or_throw()) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
};

using Numbers = std::vector<std::int32_t>;

class Exchanges : public testing::TestWithParam<CollectiveKind> {
 protected:
  std::mt19937 random_{static_cast<unsigned>(GetParam())};

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Blocks random_blocks(int count, bool even) {
    Blocks blocks = {0};
    const int length = below(40);
    for (int b = 0; b < count; ++b) blocks.push_back(blocks.back() + (even ? length : below(40)));
    return blocks;
  }
};

// What rank n has to have in the end, element by element.
Numbers expected(const Collective& collective, const std::vector<Numbers>& inputs, const Blocks& blocks,
                 Rank n) {
  const auto block = [&](const Numbers& numbers, int b) {
    return Numbers(numbers.begin() + blocks[b], numbers.begin() + blocks[b + 1]);
  };
  Numbers sum = inputs[0], all, mine;
  for (std::size_t r = 1; r < inputs.size() && adds(collective); ++r)
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += inputs[r][e];
  switch (collective.kind) {
    case CollectiveKind::Allgather:
      for (const Numbers& input : inputs) all.insert(all.end(), input.begin(), input.end());
      return all;
    case CollectiveKind::Alltoall:
      for (const Numbers& input : inputs) {
        mine = block(input, n);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      return all;
    case CollectiveKind::Broadcast:
      return inputs[collective.root];
    case CollectiveKind::ReduceScatter:
      return block(sum, n);
    case CollectiveKind::Reduce:
      return n == collective.root ? sum : Numbers();
    default:
      return sum;
  }
}

TEST_P(Exchanges, GiveWhatTheCollectivePromises) {
  const CollectiveKind kind = GetParam();
  int runs = 0;
  for (const int ranks : {1, 2, 3, 4, 5})
    for (const bool ring : {true, false})
      for (const int chunks : {1, 2, 3}) {
        const Topology machine = ring ? test::ring(ranks) : full(ranks);
        const Rank root = below(ranks);
        const Collective wanted = make_collective(kind, ranks, chunks, root);
        std::vector<Point> points = incumbents(machine, wanted);
        // Two are enough: the one of fewest steps, and the one of fewest rounds.
        if (points.size() > 2) points = {points.front(), points.back()};
        for (const Point& point : points) {
          const Verified<Program> program = lower(accepted(machine, point.collective, point.schedule));
          const bool for_one = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Reduce;
          const bool blocks_each = kind == CollectiveKind::Allgather ||
                                   kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Alltoall;
          for (const bool applies : {false, true}) {
            if (applies && !for_one) continue;
            const Tables tables(program, applies);
            const Blocks blocks = random_blocks(blocks_each ? ranks : 1, kind == CollectiveKind::Alltoall);
            const int tiles = 1 + below(3);
            // Chunks may be cut into more pieces, as long ones are.
            const bool cut = below(2) == 0;
            const Blocks long_blocks = {0, 1 << 20};
            const bool in_place = tables.rows.in_place && below(2) == 0;
            std::vector<Numbers> inputs, outputs, seen;
            for (Rank n = 0; n < ranks; ++n) {
              const bool has = kind != CollectiveKind::Broadcast || n == root;
              const std::int64_t count = kind == CollectiveKind::Allgather ? blocks[n + 1] - blocks[n]
                                         : has                             ? blocks.back()
                                                                           : 0;
              Numbers input;
              for (std::int64_t e = 0; e < count; ++e) input.push_back(below(1000));
              inputs.push_back(input);
            }
            std::vector<Numbers> promised;
            for (Rank n = 0; n < ranks; ++n) {
              promised.push_back(expected(point.collective, inputs, blocks, n));
              outputs.emplace_back(promised.back().size(), -1);
              seen.emplace_back(promised.back().size(), 0);
            }
            SharedRoom room(ranks);
            const bool shares = below(2) == 0, in_heap = shares && below(2) == 0;
            const auto each = [&](LendingTransport& transport) {
              const Rank n = transport.rank();
              const std::int32_t* input = inputs[n].data();
              if (in_heap) {
                std::int32_t* const place =
                    room.take<std::int32_t>(n, static_cast<std::int64_t>(inputs[n].size()));
                std::ranges::copy(inputs[n], place);
                input = place;
              }
              std::int32_t* const output = outputs[n].data();
              if (in_place && (kind == CollectiveKind::Allgather || n == root)) {
                std::int32_t* const place = output + (kind == CollectiveKind::Allgather ? blocks[n] : 0);
                std::copy(inputs[n].begin(), inputs[n].end(), place);
                input = place;
              }
              std::vector<Exchange<std::int32_t>> exchanges = tiled_exchange<Exchange<std::int32_t>>(
                  cut ? by_pieces(tables.tables, long_blocks, 7) : OwnedTables(tables.tables), n, 0, blocks,
                  tiles);
              for (int again = 0; again < 2; ++again)
                for (Exchange<std::int32_t>& exchange : exchanges)
                  exchange.run(transport, input, output,
                               [&](std::int64_t begin, std::int64_t count, const std::int32_t* a,
                                   const std::int32_t* b) {
                                 for (std::int64_t e = 0; e < count; ++e) {
                                   output[begin + e] = a[e] + (b == nullptr ? 0 : b[e]);
                                   ++seen[n][begin + e];
                                 }
                               });
            };
            if (shares)
              room.run(each);
            else
              on_thread_ranks(ranks, each);
            const std::string what = fmt::format(
                "{} on {}{}, {} chunks, {} tiles, {} steps{}{}", name_of(wanted), machine.name, ranks, chunks,
                tiles, program->steps, applies ? ", applied" : "", shares ? ", shared" : "");
            ASSERT_EQ(outputs, promised) << what;
            // To each element once a run, and where it is wanted.
            for (Rank n = 0; applies && n < ranks; ++n)
              ASSERT_EQ(seen[n], Numbers(promised[n].size(), 2)) << what;
            ++runs;
          }
        }
      }
  EXPECT_GE(runs, 30);
}

INSTANTIATE_TEST_SUITE_P(Of, Exchanges,
                         testing::Values(CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
                                         CollectiveKind::Allgather, CollectiveKind::Reduce,
                                         CollectiveKind::Broadcast, CollectiveKind::Alltoall),
                         [](const auto& info) { return name_of(info.param); });

// A ring of four, by hand: a partial sum that is sent on in the next step has to be stored; the last one goes
// to the function, with the operand that it arrives with, and what messages bring is lent everywhere.
TEST(ExchangeRows, GiveCompleteSumsToTheFunction) {
  const Collective collective = make_collective(CollectiveKind::ReduceScatter, 4, 1);
  const Topology machine = test::ring(4);
  Schedule schedule;
  for (int s = 0; s < 3; ++s) {
    Step step{.rounds = 1};
    for (Rank i = 0; i < 4; ++i)
      step.sends.push_back({.chunk = (i - 1 - s + 4) % 4, .link = 2 * i, .reduce = true});
    std::ranges::sort(step.sends);
    schedule.steps.push_back(step);
  }
  const StepRows rows =
      exchange_rows("test", lower(accepted(machine, collective, schedule)), true).or_throw().steps;
  ASSERT_EQ(rows.work.size(), 12);
  for (const StepWork& row : rows.work) EXPECT_EQ(row.completes, row.step == 2 ? 1 : 0);
  for (const StepMessage& row : rows.messages) EXPECT_EQ(row.borrows, 1);
}

TEST(ThreadTransport, StopsTheOthersWhereOneFails) {
  EXPECT_THROW(on_thread_ranks(3,
                               [](ThreadTransport& transport) {
                                 if (transport.rank() == 1) throw std::invalid_argument("one fails");
                                 std::vector<Delivery> sends, receives = {{.peer = 1}};
                                 transport.exchange(sends, receives);
                               }),
               std::invalid_argument);
}

// Two ranks of an AllReduce of two steps, of which one stays away from the second run.
std::string hang_without(int absent) {
  const Topology machine = full(2);
  const Point point = classic_algorithm("ring_allreduce", machine);
  const Tables tables(lower(accepted(machine, point.collective, point.schedule)), false);
  const auto each = [&](ThreadTransport& transport) {
    const std::vector<float> input(10);
    std::vector<float> output(10);
    Exchange<float> exchange(tables.tables, transport.rank(), 0, Blocks{0, 10});
    for (int run = 0; run < (transport.rank() == absent ? 1 : 2); ++run)
      exchange.run(transport, input.data(), output.data());
  };
  try {
    on_thread_ranks(2, each, std::chrono::milliseconds(200));
  } catch (const Hang& hang) {
    return hang.what();
  }
  return "no hang";
}

TEST(ExchangeHang, NamesRankStepAndPeer) {
  const std::string rest = ", step 1: message [0-9]+ was not sent by rank ";
  EXPECT_THAT(hang_without(0), testing::MatchesRegex("rank 1" + rest + "0 within 0.2 s"));
  EXPECT_THAT(hang_without(1), testing::MatchesRegex("rank 0" + rest + "1 within 0.2 s"));
}

TEST(TileCount, IsWhatIsWantedUnlessTilesAreShort) {
  EXPECT_EQ(tile_count({0, 1 << 20, 1 << 21}), 8);
  EXPECT_EQ(tile_count({0, 1 << 14}), 2);
  EXPECT_EQ(tile_count({0, 100}), 1);
  EXPECT_EQ(tile_count({0, 1 << 20}, 32), 32);
  EXPECT_EQ(tile_count({0, 1 << 12}, 32), 4);
  EXPECT_EQ(tile_count({0, 100}, 32), 1);
}

}  // namespace
}  // namespace chorale::test
