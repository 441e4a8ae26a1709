// One fault at a time in a program that is right.
#include "semantics/verify_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/faults.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using test::Kind;
using test::says;
using ::testing::Contains;
using ::testing::IsEmpty;

// Two ranks exchange their blocks of two pieces and keep their own: an Allgather by hand.
Program exchanged_blocks() {
  Program p{.name = "exchange", .collective = CollectiveKind::Allgather, .steps = 1, .chunks_per_block = 2};
  for (Rank n : {0, 1}) {
    ThreadBlock block;
    for (int j : {0, 1})
      block.instructions.push_back(
          {.does = sending({Buffer::Input, j}, j), .peer = 1 - n, .message = 2 * n + j});
    for (int j : {0, 1})
      block.instructions.push_back({.does = receiving({Buffer::Output, 2 * (1 - n) + j}, j),
                                    .peer = 1 - n,
                                    .message = 2 * (1 - n) + j});
    for (int j : {0, 1})
      block.instructions.push_back({.does = copying({Buffer::Input, j}, {Buffer::Output, 2 * n + j}, j)});
    p.ranks.push_back({.input_chunks = 2, .output_chunks = 4, .scratch_chunks = 1, .blocks = {block}});
  }
  return p;
}

// Both add the other's value to theirs: an AllReduce, output 0 = received + input.
Program exchanged_sum() {
  Program p{.name = "sum", .collective = CollectiveKind::AllReduce, .steps = 1, .chunks_per_block = 1};
  for (Rank n : {0, 1}) {
    ThreadBlock block;
    block.instructions = {{.does = sending({Buffer::Input, 0}), .peer = 1 - n, .message = n},
                          {.does = receiving({Buffer::Output, 0}), .peer = 1 - n, .message = 1 - n},
                          {.does = adding({Buffer::Input, 0}, {Buffer::Output, 0})}};
    p.ranks.push_back({.input_chunks = 1, .output_chunks = 1, .scratch_chunks = 1, .blocks = {block}});
  }
  return p;
}

Slot& src(Instruction& i) {
  return i.does.from.back().slot;
}
Slot& dst(Instruction& i) {
  return i.does.to.front().slot;
}

const Topology kTwo = test::full(2);
const Collective kGather = make_collective("allgather", 2, 2);
const Collective kAdd = make_collective("allreduce", 2, 1);

using List = std::vector<Instruction>;
using Change = std::function<void(Program&, List&)>;

std::vector<Fault> faults(Program p, const Collective& collective, const Change& change) {
  List list = p.ranks[0].blocks[0].instructions;
  change(p, list);
  if (!p.ranks.empty()) p.ranks[0].blocks[0].instructions = list;
  return violations(kTwo, collective, p, 1000);
}

void expect(const Change& change, Kind kind, const char* words) {
  EXPECT_THAT(faults(exchanged_blocks(), kGather, change), Contains(says(kind, words)));
}
void expect_of_sum(const Change& change, Kind kind, const char* words) {
  EXPECT_THAT(faults(exchanged_sum(), kAdd, change), Contains(says(kind, words)));
}

TEST(VerifyProgram, AcceptsWhatIsRight) {
  EXPECT_THAT(violations(kTwo, kGather, exchanged_blocks()), IsEmpty());
  EXPECT_THAT(violations(kTwo, kAdd, exchanged_sum()), IsEmpty());
}

TEST(VerifyProgram, Sizes) {
  expect([](Program& p, List&) { p.ranks.clear(); }, Kind::Size, "the program for 0");
  expect([](Program& p, List&) { p.chunks_per_block = 1; }, Kind::Size,
         "1 chunk per block, the collective 2");
  expect([](Program& p, List&) { p.ranks[1].input_chunks = 3; }, Kind::Size,
         "rank 1: the input has 3 chunks");
  expect([](Program& p, List&) { p.ranks[1].output_chunks = 3; }, Kind::Size,
         "rank 1: the output has 3 chunks");
  expect([](Program& p, List&) { p.ranks[1].scratch_chunks = -1; }, Kind::Size,
         "rank 1: the scratch has -1 chunks");
}

TEST(VerifyProgram, Form) {
  expect([](Program&, List& l) { src(l[0]).index = 2; }, Kind::Form, "there is no input[2]");
  expect([](Program&, List& l) { dst(l[2]).index = -1; }, Kind::Form, "there is no output[-1]");
  expect([](Program&, List& l) { dst(l[4]) = {Buffer::Scratch, 1}; }, Kind::Form, "there is no scratch[1]");
  expect([](Program&, List& l) { dst(l[4]) = {Buffer::Input, 0}; }, Kind::Written, "writes the input");
  expect([](Program&, List& l) { l[0].peer = 2; }, Kind::Form, "no such peer");
  expect([](Program&, List& l) { l[0].peer = 0; }, Kind::Form, "no such peer");
  expect([](Program&, List& l) { l[0].does.piece = 2; }, Kind::Form, "piece 2 of 2");
  expect([](Program&, List& l) { l[0].does.piece = 1; }, Kind::Form, "input[0] is not piece 1");
  expect([](Program&, List& l) { l[5].step = 1; }, Kind::Form, "the program has 1 step");
  expect([](Program& p, List&) { p.steps = 0; }, Kind::Form, "the program has 0 steps");
  expect([](Program&, List& l) { std::swap(l[3], l[4]); }, Kind::Match, "communicates after local");
  expect([](Program& p, List& l) { p.steps = 2, l[4].step = 1; }, Kind::Match,
         "after an instruction of a later step");
}

TEST(VerifyProgram, Messages) {
  expect([](Program&, List& l) { l.erase(l.begin()); }, Kind::Match, "message 0: 0 sends and 1 receive");
  expect([](Program&, List& l) { l.erase(l.begin() + 2); }, Kind::Match, "message 2: 1 send and 0 receives");
  expect([](Program&, List& l) { l[1].message = 0; }, Kind::Match, "message 0: 2 sends");
  expect([](Program&, List& l) { std::swap(l[0].message, l[1].message); }, Kind::Match,
         "message 0: piece 1 is sent");
  expect([](Program&, List& l) { l[0].message = l[2].message; }, Kind::Match,
         "message 2: 2 sends and 1 receive");
  Program later = exchanged_blocks();
  later.steps = 2;
  for (Instruction& i : later.ranks[1].blocks[0].instructions) i.step = 1;
  EXPECT_THAT(violations(kTwo, kGather, later),
              Contains(says(Kind::Match, "sent in step 1, received in step 2")));
  Topology one_way = kTwo;
  one_way.links.pop_back();
  EXPECT_THAT(violations(one_way, kGather, exchanged_blocks()),
              Contains(says(Kind::Match, "there is no link 1 -> 0")));
  // Three ranks, so that a wrong peer exists.
  Program three = exchanged_blocks();
  three.ranks.push_back({});
  Collective group = kGather;
  group.ranks = 3;
  EXPECT_THAT(violations(test::full(3), group, three), IsEmpty());
  three.ranks[0].blocks[0].instructions[0].peer = 2;
  EXPECT_THAT(
      violations(test::full(3), group, three),
      Contains(says(Kind::Match, "message 0: rank 0 sends it to rank 2, rank 1 receives it from rank 0")));
}

TEST(VerifyProgram, Data) {
  expect(
      [](Program&, List& l) {
        src(l[4]) = {Buffer::Scratch, 0};
      },
      Kind::Absent, "scratch[0] was never written");
  expect([](Program&, List& l) { l.pop_back(); }, Kind::Outcome, "rank 0 has not written output[1]");
  expect([](Program&, List& l) { dst(l[2]).index = 0; }, Kind::Outcome, "has not written output[2]");
  expect(
      [](Program&, List& l) {
        src(l[4]) = {Buffer::Output, 2};
      },
      Kind::Outcome, "output[0] of rank 0 lacks input[0] of rank 0");
  expect(
      [](Program&, List& l) {
        l.push_back({.does = adding({Buffer::Input, 0}, {Buffer::Output, 0})});
      },
      Kind::Outcome, "counts input[0] of rank 0 2 times, not 1");
  expect(
      [](Program&, List& l) {
        l.push_back({.does = adding({Buffer::Input, 0}, {Buffer::Output, 2})});
      },
      Kind::Outcome, "contains input[0] of rank 0, which does not belong there");
  // Through scratch, whose slots are of no piece.
  expect(
      [](Program&, List& l) {
        l.insert(l.begin() + 4, {.does = copying({Buffer::Input, 0}, {Buffer::Scratch, 0})});
        l.push_back({.does = copying({Buffer::Scratch, 0}, {Buffer::Output, 1}, 1)});
      },
      Kind::Match, "scratch[0] holds piece 0, not 1");
  // Between the promised positions lies one of which the collective states nothing.
  Collective gap = kGather;
  for (ChunkSpec& spec : gap.chunks) spec.output *= spec.output < 2 ? 1 : 2;
  Program wide = exchanged_blocks();
  for (Rank n : {0, 1}) {
    wide.ranks[n].output_chunks = 7;
    for (Instruction& i : wide.ranks[n].blocks[0].instructions)
      if (!i.does.sends && dst(i).index >= 2) dst(i).index *= 2;
  }
  gap.chunks_per_block = wide.chunks_per_block = 1;
  for (RankProgram& r : wide.ranks)
    for (Instruction& i : r.blocks[0].instructions) i.does.piece = 0;
  EXPECT_THAT(violations(kTwo, gap, wide), IsEmpty());
  wide.ranks[0].blocks[0].instructions.push_back({.does = copying({Buffer::Input, 0}, {Buffer::Output, 3})});
  EXPECT_THAT(violations(kTwo, gap, wide),
              Contains(says(Kind::Written, "output[3], where nothing is promised")));
}

TEST(VerifyProgram, SumsCountEveryInputOnce) {
  expect_of_sum([](Program&, List& l) { l.pop_back(); }, Kind::Outcome,
                "output[0] of rank 0 lacks input[0] of rank 0");
  expect_of_sum([](Program&, List& l) { l.push_back(l.back()); }, Kind::Outcome,
                "counts input[0] of rank 0 2 times, not 1");
  expect_of_sum([](Program&, List& l) { l[2].does.from.erase(l[2].does.from.begin()); }, Kind::Outcome,
                "lacks input[0] of rank 1");
}

TEST(VerifyProgram, RacesWithinAnEpoch) {
  // Rank 0 receives into the slot that it sends: what rank 1 gets depends on the timing.
  Program p = exchanged_sum();
  p.steps = 2;
  for (Rank n : {0, 1}) {
    List& l = p.ranks[n].blocks[0].instructions;
    l.push_back({.does = sending({Buffer::Output, 0}), .peer = 1 - n, .message = 2 + n, .step = 1});
    l.push_back({.does = receiving({n == 0 ? Buffer::Output : Buffer::Scratch, 0}),
                 .peer = 1 - n,
                 .message = 3 - n,
                 .step = 1});
  }
  EXPECT_THAT(violations(kTwo, kAdd, p), Contains(says(Kind::Race,
                                                       "(receive output[0] from rank 1 (message 3)): writes "
                                                       "output[0], and nothing orders that with rank 0")));
  p.ranks[0].blocks[0].instructions.back().does.to[0].slot.buffer = Buffer::Scratch;
  EXPECT_THAT(violations(kTwo, kAdd, p), IsEmpty());

  EXPECT_THAT(faults(exchanged_blocks(), kGather,
                     [](Program&, List& l) {
                       for (int k : {2, 3}) dst(l[k]) = {Buffer::Scratch, 0};
                     }),
              Contains(says(Kind::Race, "writes scratch[0], and nothing orders that with rank 0")));
}

TEST(VerifyProgram, ThreadBlocksShareOnlyWhatIsRead) {
  // The copies of own pieces may go to a block of their own: both read what is also sent.
  Program p = exchanged_blocks();
  std::vector<ThreadBlock>& blocks = p.ranks[0].blocks;
  blocks.push_back({.channel = 1});
  blocks[1].instructions = {blocks[0].instructions.back()};
  blocks[0].instructions.pop_back();
  EXPECT_THAT(violations(kTwo, kGather, p), IsEmpty());
  // A block that writes what another one reads in the same epoch cannot be ordered with it.
  blocks[1].instructions.push_back({.does = copying({Buffer::Output, 0}, {Buffer::Scratch, 0})});
  EXPECT_THAT(violations(kTwo, kGather, p),
              Contains(says(Kind::Race, "output[0], and nothing orders that with rank 0, block 0")));
}

// Ranks 0 and 1 promise the same data, so it is right to take it from either.
TEST(VerifyProgram, CopiesOfOneChunkAreAlike) {
  Collective c{.custom_name = "two owners", .ranks = 2};
  c.chunks = {{.pre = {0, 1}, .post = {0, 1}}};
  Program p = exchanged_sum();
  for (RankProgram& r : p.ranks) r.blocks[0].instructions.pop_back();  // each takes the other's
  EXPECT_THAT(violations(kTwo, c, p), IsEmpty());
}

TEST(VerifyProgram, StopsAtTheLimit) {
  EXPECT_EQ(violations(kTwo, kGather, exchanged_blocks(), 1).size(), 0u);
  Program p = exchanged_blocks();
  for (RankProgram& r : p.ranks) r.blocks[0].instructions.resize(0);
  EXPECT_EQ(violations(kTwo, kGather, p, 3).size(), 3u);
}

}  // namespace
}  // namespace chorale
