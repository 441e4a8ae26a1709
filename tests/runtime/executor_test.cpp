// Programs executed by threads, on data whose results are known exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "runtime/device/element_types.h"
#include "runtime/device/wire.h"
#include "runtime/exchange/threads.h"
#include "runtime/rank_plan.h"
#include "runtime/run.h"
#include "runtime/test_data.h"
#include "semantics/verify.h"
#include "semantics/verify_program.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/runtime/everything.h"
#include "tests/runtime/losing_transport.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using test::all_ops;
using test::all_types;

// Sizes in bytes of blocks of one 4-byte element, of none, of primes of them, and around the period of the
// data.
const RunOptions thorough = {.bytes = {0, 4, 8, 12, 28, 4 * 101, 4 * 1021, 4 * 2503},
                             .types = all_types,
                             .ops = all_ops,
                             .iterations = 1,
                             .warm_up = 0};
const RunOptions quick = {.bytes = {0, 4, 4 * 37},
                          .types = {ElementType::Int32},
                          .ops = {ReduceOp::Sum, ReduceOp::Max},
                          .iterations = 1,
                          .warm_up = 0};

std::int64_t wrong(const Topology& t, const Collective& c, const Schedule& s, const RunOptions& options) {
  std::int64_t sum = 0;
  for (const RunRow& row : run_on_threads(lower(t, c, s), c, options)) sum += row.wrong + !row.agrees;
  return sum;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// By hand: blocks of 3 elements in 2 chunks, of 2 elements and of 1.
TEST(Execute, RingAllgatherOfUnevenChunks) {
  const Program p = lower(test::ring(3), make_collective("allgather", 3, 2), test::ring_allgather(3, 2));
  const auto outputs = outputs_of(unverified(p), {.type = ElementType::Int32, .elements = 3}, ReduceOp::Sum,
                                  {bytes_of<std::int32_t>({1, 2, 3}), bytes_of<std::int32_t>({4, 5, 6}),
                                   bytes_of<std::int32_t>({7, 8, 9})});
  for (Rank n = 0; n < 3; ++n)
    EXPECT_THAT(values_of<std::int32_t>(outputs[n]), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Execute, AllReduceAddsOrTakesTheLargest) {
  const Topology t = test::full(4);
  const Program p = lower(t, make_collective("allreduce", 4, 2), test::recursive_doubling_allreduce(t, 2));
  const std::vector<std::vector<std::byte>> inputs = {
      bytes_of<float>({1, -10, 0.5}), bytes_of<float>({2, -20, 0.25}), bytes_of<float>({3, -30, 0}),
      bytes_of<float>({4, -40, 8})};
  const BlockShape shape{.type = ElementType::Float32, .elements = 3};
  for (const auto& output : outputs_of(unverified(p), shape, ReduceOp::Sum, inputs))
    EXPECT_THAT(values_of<float>(output), ElementsAre(10, -100, 8.75));
  for (const auto& output : outputs_of(unverified(p), shape, ReduceOp::Max, inputs))
    EXPECT_THAT(values_of<float>(output), ElementsAre(4, -10, 8));
}

// (a + b) + c and a + (b + c) differ here. All ranks must agree on one, bit by bit.
TEST(Execute, GatheredSumsAreTheSameEverywhere) {
  const Topology t = test::full(3);
  Schedule s{.steps = {Step{}}};
  for (LinkId l = 0; l < 6; ++l) s.steps[0].sends.push_back({.chunk = t.links[l].src, .link = l});
  const Program p = lower(t, make_collective("allreduce_by_gather", 3, 1), s);
  const auto outputs =
      outputs_of(unverified(p), {.type = ElementType::Float32, .elements = 1}, ReduceOp::Sum,
                 {bytes_of<float>({1e8F}), bytes_of<float>({-1e8F}), bytes_of<float>({1.0F})});
  for (const auto& output : outputs) EXPECT_THAT(values_of<float>(output), ElementsAre(1.0F));
}

// Normal numbers of mixed magnitude.
template <typename T>
std::vector<T> mixed(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i)
    values.push_back(T(std::ldexp(1.0F + static_cast<float>(random() % 4096) / 4096, random() % 9) *
                       (random() % 2 == 0 ? 1.0F : -1.0F)));
  return values;
}

// All ranks have the sum in float32, in the order of the ranks, rounded once; rounded after each addition it
// is another.
template <typename T>
void expect_rounded_once(const Collective& asked, const Schedule& schedule, const Topology& machine) {
  Collective c = asked;
  c.order = parse_sum_order("once", c.ranks, "test");
  constexpr int kElements = 48;
  std::vector<std::vector<T>> inputs;
  std::vector<std::vector<std::byte>> bytes;
  for (Rank n = 0; n < c.ranks; ++n) bytes.push_back(bytes_of(inputs.emplace_back(mixed<T>(kElements, n))));
  std::vector<T> once, each;
  for (int e = 0; e < kElements; ++e) {
    float wide = static_cast<float>(inputs[0][e]);
    T narrow = inputs[0][e];
    for (Rank n = 1; n < c.ranks; ++n) {
      wide += static_cast<float>(inputs[n][e]);
      narrow = T(static_cast<float>(narrow) + static_cast<float>(inputs[n][e]));
    }
    once.push_back(T(wide));
    each.push_back(narrow);
  }
  EXPECT_NE(bytes_of(once), bytes_of(each));
  const ElementType type = std::is_same_v<T, Bfloat16> ? ElementType::Bfloat16 : ElementType::Float16;
  for (const auto& output : outputs_of(unverified(lower(machine, c, schedule), c),
                                       {.type = type, .elements = kElements}, ReduceOp::Sum, bytes))
    EXPECT_EQ(output, bytes_of(once));
}

TEST(Execute, SumsThatAreMadeAtOnceAreRoundedOnce) {
  const Topology t = test::full(4);
  Schedule gathered{.steps = {Step{}}}, shot{.steps = {Step{}}};
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    gathered.steps[0].sends.push_back({.chunk = t.links[l].src, .link = l});
    shot.steps[0].sends.push_back({.chunk = 0, .link = l, .reduce = true});
  }
  expect_rounded_once<Bfloat16>(make_collective("allreduce_by_gather", 4, 1), gathered, t);
  expect_rounded_once<Bfloat16>(make_collective("allreduce", 4, 1), shot, t);
  expect_rounded_once<Float16>(make_collective("allreduce", 4, 1), shot, t);
  // Parts of all vectors to the ranks that add them up, and the sums to all.
  Schedule phases{.steps = {Step{}, Step{}}};
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    phases.steps[0].sends.push_back({.chunk = 4 * t.links[l].src + t.links[l].dst, .link = l});
    phases.steps[1].sends.push_back({.chunk = 16 + t.links[l].src, .link = l});
  }
  expect_rounded_once<Bfloat16>(make_collective("allreduce_in_phases", 4, 4), phases, t);
}

// 16 terms: each rank adds its own along the tree, and the ranks add along the rest of it.
template <typename T>
std::vector<std::byte> bits_by_index(int ranks, ElementType type) {
  constexpr int kTerms = 16, kElements = 32;
  const int own = kTerms / ranks;
  std::vector<std::vector<std::byte>> inputs;
  for (Rank n = 0; n < ranks; ++n) {
    std::vector<std::vector<T>> terms;
    for (int k = 0; k < own; ++k) terms.push_back(mixed<T>(kElements, n * own + k));
    for (int apart = 1; apart < own; apart *= 2)
      for (int k = 0; k < own; k += 2 * apart)
        for (int e = 0; e < kElements; ++e)
          terms[k][e] = combined<Combination::Sum>(terms[k][e], terms[k + apart][e]);
    inputs.push_back(bytes_of(terms[0]));
  }
  if (ranks == 1) return inputs[0];
  const Topology t = test::full(ranks);
  Collective c = make_collective("allreduce", ranks, 2);
  c.order = parse_sum_order("by-index", ranks, "test");
  const Schedule doubling = test::recursive_doubling_allreduce(t, 2);
  EXPECT_EQ(violations(t, c, doubling, 1), std::vector<Fault>{});
  const auto outputs = outputs_of(unverified(lower(t, c, doubling), c), {.type = type, .elements = kElements},
                                  ReduceOp::Sum, inputs);
  for (const auto& output : outputs) EXPECT_EQ(output, outputs[0]);
  return outputs[0];
}

TEST(Execute, SumsByIndexHaveTheSameBitsForAnyNumberOfRanks) {
  for (const int ranks : {2, 4, 8, 16}) {
    EXPECT_EQ(bits_by_index<float>(ranks, ElementType::Float32),
              bits_by_index<float>(1, ElementType::Float32));
    EXPECT_EQ(bits_by_index<Bfloat16>(ranks, ElementType::Bfloat16),
              bits_by_index<Bfloat16>(1, ElementType::Bfloat16));
  }
}

TEST(Execute, EveryTypeOpAndSize) {
  const Topology ring = test::ring(4), full = test::full(4);
  EXPECT_EQ(wrong(ring, make_collective("allgather", 4, 3), test::ring_allgather(4, 3), thorough), 0);
  EXPECT_EQ(wrong(ring, make_collective("reducescatter", 4, 3), test::ring_reducescatter(4, 3), thorough), 0);
  EXPECT_EQ(wrong(ring, make_collective("allreduce", 4, 8), test::ring_allreduce(4, 2), thorough), 0);
  EXPECT_EQ(
      wrong(full, make_collective("allreduce", 4, 2), test::recursive_doubling_allreduce(full, 2), thorough),
      0);
}

TEST(Execute, EveryBaseline) {
  const Topology t = test::full(4);
  int executed = 0;
  for (const ClassicEntry& entry : classic_catalogue())
    if (const std::optional<Point> point = test::baseline(entry.method, t, {.chunks = 2})) {
      EXPECT_EQ(wrong(t, point->collective, point->schedule, quick), 0) << name_of(entry.method);
      ++executed;
    }
  EXPECT_GE(executed, 20);
}

// Notes what it is asked to move, and moves nothing.
class NotingTransport : public Transport {
 public:
  NotingTransport(Rank rank, int ranks) : rank_(rank), ranks_(ranks) {}
  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void exchange(std::vector<Delivery>&, std::vector<Delivery>&) override {}
  void start(Delivery& message, bool sends, int number) override {
    (sends ? sent : received).emplace_back(message.peer, message.tag);
    started_.push_back(number);
  }
  std::vector<int> ended(bool = true) override { return std::exchange(started_, {}); }

  std::vector<std::pair<Rank, int>> sent = {}, received = {};

 private:
  std::vector<int> started_ = {};
  Rank rank_ = 0;
  int ranks_ = 0;
};

// All in one step, two chunks per pair: rank 3 of 5 sends to 4, 4, 0, 0, 1, 1, 2, 2, so that no two ranks
// send their k-th message to the same one, and receives from 2, 2, 1, 1, 0, 0, 4, 4. Messages of a pair stay
// in their order.
TEST(Execute, MessagesOfAStepGoRound) {
  const Topology t = test::full(5);
  const Point point = classic_algorithm("direct_alltoall", t, {.chunks = 2});
  const Program program = lower(t, point.collective, point.schedule);
  const StepRows steps = step_rows(program);
  for (Rank n = 0; n < 5; ++n) {
    RankPlan plan(unverified(program), steps, n, {.type = ElementType::Int32, .elements = 4});
    NotingTransport transport(n, 5);
    plan.execute(ReduceOp::Sum, transport);
    ASSERT_EQ(transport.sent.size(), 8u);
    ASSERT_EQ(transport.received.size(), 8u);
    for (int k = 0; k < 8; ++k) {
      EXPECT_EQ(transport.sent[k].first, (n + 1 + k / 2) % 5) << "rank " << n << ", message " << k;
      EXPECT_EQ(transport.received[k].first, (n + 4 - k / 2) % 5) << "rank " << n << ", message " << k;
    }
    for (int k = 0; k < 8; k += 2) {
      EXPECT_LT(transport.sent[k].second, transport.sent[k + 1].second);
      EXPECT_LT(transport.received[k].second, transport.received[k + 1].second);
    }
  }
}

TEST(Execute, RandomSchedules) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    const Topology t = test::ring(5);
    const Rank root = static_cast<Rank>(random() % 5);
    for (const char* name :
         {"broadcast", "scatter", "gather", "allgather", "alltoall", "allreduce_by_gather"}) {
      const Collective c = make_collective(name, 5, 2, root);
      EXPECT_EQ(wrong(t, c, test::random_copies(t, c, random), quick), 0) << name << ", seed " << seed;
    }
    for (const char* name : {"reduce", "reducescatter"}) {
      const Collective c = make_collective(name, 5, 2, root);
      EXPECT_EQ(wrong(t, c, test::random_sums(t, c, random), quick), 0) << name << ", seed " << seed;
    }
    EXPECT_EQ(wrong(t, make_collective("allreduce", 5, 10), test::random_allreduce(t, 2, random), quick), 0)
        << "seed " << seed;
  }
}

// Sums through a rank that has nothing to add, and two owners of one chunk.
TEST(Execute, CustomCollectives) {
  Collective sum{.custom_name = "sum of the ends", .ranks = 3, .combining = true};
  sum.chunks = {{.pre = {0, 2}, .post = {0, 2}}};
  EXPECT_EQ(wrong(test::ring(3), sum,
                  {.steps = {{.sends = {{.chunk = 0, .link = 0, .reduce = true}}},
                             {.sends = {{.chunk = 0, .link = 2, .reduce = true}}},
                             {.sends = {{.chunk = 0, .link = 3}}},
                             {.sends = {{.chunk = 0, .link = 1}}}}},
                  thorough),
            0);
  Collective copies{.custom_name = "two owners", .ranks = 3};
  copies.chunks = {{.pre = {0, 1}, .post = {0, 1, 2}}};
  EXPECT_EQ(wrong(test::full(3), copies,
                  {.steps = {{.sends = {{.chunk = 0, .link = find_link(test::full(3), 1, 2)}}}}}, thorough),
            0);
}

TEST(Run, RowsSayWhatWasRun) {
  const Program p = lower(test::ring(4), make_collective("allgather", 4, 3), test::ring_allgather(4, 3));
  const auto rows = run_on_threads(p, make_collective("allgather", 4, 3),
                                   {.bytes = {1000, 4099},
                                    .types = {ElementType::Float32, ElementType::Int64},
                                    .ops = {ReduceOp::Sum, ReduceOp::Max},  // which make no difference here
                                    .iterations = 3,
                                    .warm_up = 1});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].bytes, 4096);  // whole elements, though not whole chunks
  EXPECT_EQ(rows[1].buffer_bytes, 4 * 4096);
  EXPECT_EQ(rows[3].type, ElementType::Int64);
  for (const RunRow& row : rows) {
    EXPECT_EQ(row.op, ReduceOp::Sum);
    EXPECT_EQ(row.wrong, 0);
    EXPECT_LE(row.min_us, row.median_us);
    EXPECT_LE(row.median_us, row.max_us);
    EXPECT_DOUBLE_EQ(row.algbw, static_cast<double>(row.buffer_bytes) / row.median_us / 1e3);
  }
}

TEST(Run, BadOptions) {
  const Collective c = make_collective("allgather", 2, 1);
  const Program p = lower(test::ring(2), c, test::ring_allgather(2, 1));
  EXPECT_THROW(run_on_threads(p, c, {.bytes = {-1}}), InputError);
  EXPECT_THROW(run_on_threads(p, c, {.iterations = 0}), InputError);
  EXPECT_THROW(run_on_threads(p, c, {.warm_up = -1}), InputError);
}

// The verifier of the data must see what is wrong: in each of these programs one instruction was changed.
TEST(Run, WrongProgramsAreSeenInTheData) {
  const Collective c = make_collective("allreduce", 4, 4);
  const Program right = lower(test::ring(4), c, test::ring_allreduce(4, 1));
  int changed = 0;
  for (std::size_t k = 0; k < right.ranks[1].blocks[0].instructions.size(); ++k) {
    Program p = right;
    Instruction& i = p.ranks[1].blocks[0].instructions[k];
    if (adds(i.does))
      i.does.from.erase(i.does.from.begin());
    else if (i.does.sends && i.does.from[0].slot.buffer == Buffer::Output)
      i.does.from[0].slot.buffer = Buffer::Input;
    else
      continue;
    ++changed;
    for (std::int64_t bytes : {16, 4096})
      EXPECT_GT(run_on_threads(p, c, {.bytes = {bytes}, .iterations = 1, .warm_up = 0}).at(0).wrong, 0)
          << to_string(i);
  }
  EXPECT_EQ(changed, 3 + 5);  // three sums, and all sends but the first, which is of the input
}

// Whatever is lowered works in place as well, in all shapes; in a Reduce, Gather, Broadcast or Scatter only
// the root has both buffers.
TEST(InPlace, EveryBaseline) {
  for (int ranks : {2, 4, 5}) {
    const Topology t = test::full(ranks);
    for (const ClassicEntry& entry : classic_catalogue()) {
      const std::optional<Point> point = test::baseline(entry.method, t, {.chunks = 2, .root = ranks - 1});
      if (!point) continue;
      const Program program = in_place(t, point->collective, lower(t, point->collective, point->schedule));
      for (const RunRow& row : run_on_threads(program, point->collective, quick))
        EXPECT_EQ(row.wrong, 0) << name_of(entry.method) << " " << ranks;
    }
  }
}

TEST(InPlace, RandomSchedulesOfEveryCollective) {
  std::mt19937 random(11);
  const Topology ring = test::ring(4);
  for (const std::string& name : collective_names()) {
    const Collective c = make_collective(name, 4, name == "allreduce" ? 8 : 3, name == "broadcast" ? 2 : 0);
    for (int i = 0; i < 5; ++i) {
      const Schedule s = name == "allreduce" ? test::random_allreduce(ring, 2, random)
                         : c.combining       ? test::random_sums(ring, c, random)
                                             : test::random_copies(ring, c, random);
      const Program program = in_place(ring, c, lower(ring, c, s));
      RunOptions options = quick;
      options.accumulation = Accumulation::Float32;
      options.types = {ElementType::Int32, ElementType::Float16};
      for (const RunRow& row : run_on_threads(program, c, options)) EXPECT_EQ(row.wrong, 0) << name;
    }
  }
}

// Around a ring, sums go into the inputs themselves: nothing is copied aside. An exchange of all with all
// needs every input once more, but for the block that stays.
TEST(InPlace, CopiesNoMoreThanItMust) {
  const auto copies = [](const Program& p) {
    std::ptrdiff_t count = 0;
    for (const RankProgram& rank : p.ranks)
      count += std::ranges::count_if(rank.blocks[0].instructions,
                                     [](const Instruction& i) { return is_local(i.does) && !adds(i.does); });
    return count;
  };
  const Topology ring = test::ring(4), full = test::full(4);
  const Collective allreduce = make_collective("allreduce", 4, 4),
                   alltoall = make_collective("alltoall", 4, 1);
  EXPECT_EQ(copies(in_place(ring, allreduce, lower(ring, allreduce, test::ring_allreduce(4, 1)))), 0);
  const Point direct = classic_algorithm("direct_alltoall", full, {.chunks = 1});
  EXPECT_EQ(copies(in_place(full, alltoall, lower(full, alltoall, direct.schedule))), 4 * 3);
}

// What is right apart is not right in one memory, and the verifier reports it.
TEST(InPlace, NotWithoutThePass) {
  const Topology ring = test::ring(4);
  const Collective c = make_collective("allreduce", 4, 4);
  Program p = lower(ring, c, test::ring_allreduce(4, 1));
  EXPECT_EQ(violations(ring, c, p), std::vector<Fault>());
  p.in_place = true;
  EXPECT_NE(violations(ring, c, p), std::vector<Fault>());
}

// Rank 0 has 2048, where halves are 2 apart, and 15 ranks have 1: who adds ones to the large number loses all
// of them. The sum, 2063, lies half way between 2062 and 2064 and is rounded to the even one, 1032 * 2.
TEST(Accumulation, HalvesInFloat32AreRoundedOnce) {
  const Topology t = test::ring(16);
  const Collective c = make_collective("allreduce", 16, 16);
  const Program p = lower(t, c, test::ring_allreduce(16, 1));
  std::vector<std::vector<std::byte>> inputs;
  for (Rank n = 0; n < 16; ++n)
    inputs.push_back(bytes_of(std::vector<Float16>(16, Float16(n == 0 ? 2048.0F : 1.0F))));
  const auto right = [&](Accumulation accumulation) {
    std::ptrdiff_t count = 0;
    for (const auto& output : outputs_of(
             unverified(p), {.type = ElementType::Float16, .elements = 16, .accumulation = accumulation},
             ReduceOp::Sum, inputs))
      count += std::ranges::count(values_of<Float16>(output), Float16(2063.0F));
    return count;
  };
  EXPECT_EQ(static_cast<float>(Float16(2063.0F)), 2064);
  EXPECT_EQ(right(Accumulation::Float32), 16 * 16);
  // Only orders in which the large number comes last or last but one get it right.
  EXPECT_LE(right(Accumulation::OwnType), 2 * 16);
}

TEST(Accumulation, EveryTypeOpAndSizeInFloat32) {
  RunOptions options = thorough;
  options.accumulation = Accumulation::Float32;
  const Topology ring = test::ring(4), full = test::full(4);
  EXPECT_EQ(wrong(ring, make_collective("reducescatter", 4, 3), test::ring_reducescatter(4, 3), options), 0);
  EXPECT_EQ(wrong(ring, make_collective("allreduce", 4, 8), test::ring_allreduce(4, 2), options), 0);
  EXPECT_EQ(
      wrong(full, make_collective("allreduce", 4, 2), test::recursive_doubling_allreduce(full, 2), options),
      0);
  // Without a sum nothing is widened.
  EXPECT_EQ(wrong(ring, make_collective("allgather", 4, 3), test::ring_allgather(4, 3), options), 0);
}

// Data for sums that are rounded once show those that are rounded on their way.
TEST(Accumulation, TheDataTellsTheTwoApart) {
  const Topology t = test::ring(8);
  const Collective c = make_collective("allreduce", 8, 8);
  const Program p = lower(t, c, test::ring_allreduce(8, 1));
  for (ElementType type : {ElementType::Float16, ElementType::Bfloat16}) {
    const BlockShape once{.type = type, .elements = 1000, .accumulation = Accumulation::Float32},
        often{.type = type, .elements = 1000};
    const TestData data(c, once, ReduceOp::Sum, 5);
    std::vector<std::vector<std::byte>> inputs(8, std::vector<std::byte>(2000));
    for (Rank n = 0; n < 8; ++n) data.fill_input(n, inputs[n]);
    EXPECT_EQ(data.wrong_elements(3, outputs_of(unverified(p), once, ReduceOp::Sum, inputs)[3]), 0);
    EXPECT_GT(data.wrong_elements(3, outputs_of(unverified(p), often, ReduceOp::Sum, inputs)[3]), 100);
  }
}

std::string hang_of(const Program& program, Rank deaf_or_mute, LosingTransport::End end) {
  const StepRows steps = step_rows(program);
  try {
    on_thread_ranks(
        static_cast<int>(program.ranks.size()),
        [&](Transport& transport) {
          RankPlan plan(unverified(program), steps, transport.rank(), {.elements = 10});
          LosingTransport losing(transport, 1, end);
          plan.execute(ReduceOp::Sum, transport.rank() == deaf_or_mute ? losing : transport);
        },
        milliseconds(500));
  } catch (const Hang& hang) {
    return hang.what();
  }
  return "no hang";
}

// The message is the last one, so that all other ranks come to their end and only one can complain.
TEST(Hang, NamesRankStepPeerAndMessage) {
  const Collective c = make_collective("allgather", 3, 1);
  const Program right = lower(test::ring(3), c, test::ring_allgather(3, 1));
  using End = LosingTransport::End;
  EXPECT_EQ(hang_of(right, -1, End::Send), "no hang");
  const std::vector<Instruction>& list = right.ranks[0].blocks[0].instructions;
  const auto send =
      std::ranges::find_if(list, [](const Instruction& i) { return i.step == 1 && i.does.sends; });
  ASSERT_NE(send, list.end());
  const std::string message = "step 2: message " + std::to_string(send->message);
  EXPECT_EQ(hang_of(right, 0, End::Send), "rank 1, " + message + " was not sent by rank 0 within 0.5 s");
  EXPECT_EQ(hang_of(right, 1, End::Receive),
            "rank 0, " + message + " was not received by rank 1 within 0.5 s");
}

TEST(Hang, NamesTheRankThatIsMissingAtABarrier) {
  try {
    on_thread_ranks(
        3,
        [](Transport& transport) {
          transport.barrier();
          if (transport.rank() != 1) transport.barrier();
        },
        milliseconds(200));
    FAIL() << "no hang";
  } catch (const Hang& hang) {
    EXPECT_THAT(hang.what(), HasSubstr("rank 1 did not come to a barrier within 0.2 s"));
  }
}

TEST(Hang, AnErrorOfOneRankEndsTheOthers) {
  EXPECT_THROW(on_thread_ranks(3,
                               [](Transport& transport) {
                                 if (transport.rank() == 1) throw std::runtime_error("rank 1 fails");
                                 transport.barrier();
                               }),
               std::runtime_error);
}

// A transport that has only messages.
struct MessagesAlone : Transport {
  explicit MessagesAlone(Transport& under) : under(under) {}
  int rank() const override { return under.rank(); }
  int ranks() const override { return under.ranks(); }
  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    under.exchange(sends, receives);
    under.release(sends, receives);
  }
  Transport& under;
};

TEST(Transport, NumbersOfAllRanks) {
  on_thread_ranks(7, [](Transport& threads) {
    MessagesAlone alone(threads);
    for (Transport* transport : {&threads, static_cast<Transport*>(&alone)})
      for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(transport->sum(threads.rank() + i), 21 + 7 * i);
        EXPECT_EQ(transport->most(threads.rank() - i), 6 - i);
        EXPECT_EQ(transport->all(threads.rank())[5], 5);
      }
  });
}

// Every number of both halves comes back from float32, and rounding is to nearest, ties to even.
template <typename T>
void expect_halves(int exponent_bits) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    T number;
    number.bits = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(number);
    if (std::isnan(value)) continue;
    ASSERT_EQ(T(value).bits, number.bits) << bits;
    // Half way to the next one, and a little beyond: even, and up.
    T next;
    next.bits = static_cast<std::uint16_t>(bits + 1);
    const double above = static_cast<float>(next);
    if ((bits & 0x7fff) + 1 >= ((1 << exponent_bits) - 1) << (15 - exponent_bits) || bits + 1 == 1 << 15)
      continue;
    const float middle = static_cast<float>((static_cast<double>(value) + above) / 2);
    ASSERT_EQ(T(middle).bits, bits & 1 ? next.bits : number.bits) << bits;
    ASSERT_EQ(T(std::nextafter(middle, static_cast<float>(above))).bits, next.bits) << bits;
  }
}

TEST(Elements, Halves) {
  expect_halves<Float16>(5);
  expect_halves<Bfloat16>(8);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);  // infinity
  EXPECT_EQ(Float16(-1.5f).bits, 0xbe00);
  EXPECT_EQ(Bfloat16(-1.5f).bits, 0xbfc0);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(NAN))));
}

// 200 is no int8: a count must not be read as one.
TEST(Elements, AveragesOverMoreRanksThanTheTypeHolds) {
  EXPECT_EQ(averaged<std::int8_t>(-100, 200), 0);
  EXPECT_EQ(averaged<std::int8_t>(100, 256), 0);
  EXPECT_EQ(averaged<std::int8_t>(-100, 3), -33);
  EXPECT_EQ(averaged<std::uint64_t>(~std::uint64_t{0}, 2), ~std::uint64_t{0} / 2);
}

// Of any two numbers, by their bits: zeros of both signs, infinities, NaNs, subnormal ones, in loops of
// vectors and in what is left over. The value is the definition's, of operands as doubles.
TEST(Elements, MaximumAndMinimumHaveTheSameBitsInBothOrders) {
  std::mt19937_64 random(7);
  for (const ElementType type : all_types)
    for (const ReduceOp op : {ReduceOp::Max, ReduceOp::Min})
      with_type(type, [&](auto zero) {
        using T = decltype(zero);
        using R = std::conditional_t<is_short<T>, float, T>;
        std::vector<T> a, b;
        std::vector<T> numbers = {T(R(0)), T(R(1)), T(R(2))};
        if constexpr (!std::is_integral_v<T>)
          for (const R x : {R(-0.0), R(-1), R(INFINITY), R(-INFINITY), R(NAN), -R(NAN), R(1e-40)})
            numbers.push_back(T(x));
        for (int i = 0; i < 300; ++i) {
          const std::uint64_t bits = random();
          std::memcpy(&numbers.emplace_back(), &bits, sizeof(T));
        }
        for (const T x : numbers)
          for (const T y : numbers) a.push_back(x), b.push_back(y);
        for (const std::size_t count : {std::size_t{1}, std::size_t{37}, a.size()}) {
          const std::vector<T> x(a.end() - count, a.end()), y(b.end() - count, b.end());
          std::vector<std::byte> there = bytes_of(x), back = bytes_of(y);
          reduce(type, op, there.data(), bytes_of(y).data(), static_cast<std::int64_t>(count));
          reduce(type, op, back.data(), bytes_of(x).data(), static_cast<std::int64_t>(count));
          EXPECT_TRUE(there == back) << to_string(type) << " " << to_string(op) << " " << count;
          const std::vector<T> results = values_of<T>(there);
          for (std::size_t i = 0; i < count; ++i) {
            const R p = static_cast<R>(x[i]), q = static_cast<R>(y[i]), r = static_cast<R>(results[i]);
            if (p != p || q != q)
              ASSERT_TRUE(r != r) << to_string(type) << " " << to_string(op);
            else
              ASSERT_EQ(r, op == ReduceOp::Max ? std::max(p, q) : std::min(p, q));
          }
        }
      });
}

TEST(Elements, NamesAndReductions) {
  for (ElementType type : all_types) EXPECT_EQ(element_type(to_string(type)), type);
  for (ReduceOp op : all_ops) EXPECT_EQ(reduce_op(to_string(op)), op);
  EXPECT_THROW(element_type("float8"), InputError);
  EXPECT_THROW(reduce_op("xor"), InputError);
  std::vector<std::byte> a = bytes_of<std::int32_t>({INT32_MAX, -5, 7});
  const std::vector<std::byte> b = bytes_of<std::int32_t>({1, 3, -9});
  reduce(ElementType::Int32, ReduceOp::Sum, a.data(), b.data(), 3);
  EXPECT_THAT(values_of<std::int32_t>(a), ElementsAre(INT32_MIN, -2, -2));  // wraps around
  reduce(ElementType::Int32, ReduceOp::Max, a.data(), b.data(), 2);
  EXPECT_THAT(values_of<std::int32_t>(a), ElementsAre(1, 3, -2));
}

// Sums of 2000 ranks must still be exact: 2000 * 4096 eighths need 23 bits, and float32 has 24.
TEST(TestData, ValuesAreSmallEnoughForExactSums) {
  const Collective c = make_collective("allreduce", 2000, 1);
  const BlockShape shape{.type = ElementType::Float32, .elements = 8};
  const TestData data(c, shape, ReduceOp::Sum, 7);
  std::vector<float> forwards(8, 0), backwards(8, 0);
  std::vector<std::byte> input(32);
  for (Rank n = 0; n < 2000; ++n) {
    data.fill_input(n, input);
    for (int e = 0; e < 8; ++e) forwards[e] += values_of<float>(input)[e];
    data.fill_input(1999 - n, input);
    for (int e = 0; e < 8; ++e) backwards[e] += values_of<float>(input)[e];
  }
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(data.wrong_elements(0, bytes_of(forwards)), 0);
  forwards[3] += 0.125F;
  EXPECT_EQ(data.wrong_elements(0, bytes_of(forwards)), 1);
}

TEST(TestData, SeesChangedInputs) {
  const Collective c = make_collective("allgather", 2, 2);
  const TestData data(c, {.type = ElementType::Int64, .elements = 5}, ReduceOp::Sum, 1);
  std::vector<std::byte> input(40);
  data.fill_input(1, input);
  EXPECT_EQ(data.changed_elements(1, input), 0);
  EXPECT_EQ(data.changed_elements(0, input), 5);
  TestData::spoil_output(input);
  EXPECT_EQ(data.changed_elements(1, input), 5);
}

// 255 is no scale, so 2^127 is the largest: what exceeds 127/64 times it is no number of an MXINT8 group. Of
// MXFP8 the scale of the largest float is 2^120.
TEST(Wire, AGroupOfWhatNoScaleHoldsIsNan) {
  float numbers[32] = {1, -0x1.fcp127f};
  MxInt8(numbers).read(numbers);
  EXPECT_EQ(numbers[1], -0x1.fcp127f);
  numbers[0] = 1, numbers[1] = -0x1.fep127f;
  const MxInt8 group(numbers);
  EXPECT_EQ(group.scale, 255);
  float read[32];
  group.read(read);
  EXPECT_TRUE(std::isnan(read[0]) && std::isnan(read[1]));
  EXPECT_EQ(group.elements[1].count, 0);  // a float of -128 has no int8 of these
  EXPECT_EQ(MxFp8(numbers).scale, 120 + 127);
}

}  // namespace
}  // namespace chorale
