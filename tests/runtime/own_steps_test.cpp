// What a rank does in each step: fused sums against the rows that they are made of, one after the other.
#include "runtime/device/own_steps.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace chorale {
namespace {

using Memory = std::map<std::pair<int, std::int64_t>, int>;  // of one element per slot

int& at(Memory& memory, const Span& span) {
  return memory[{span.buffer, span.begin}];
}

TEST(OwnSteps, FusedSumsLeaveWhatTheirRowsLeave) {
  std::mt19937 random(1);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  int fewer = 0;
  for (int run = 0; run < 2000; ++run) {
    Memory by_rows;
    for (int buffer = 0; buffer < 3; ++buffer)
      for (int slot = 0; slot < 3; ++slot) by_rows[{buffer, slot}] = 1 << (3 * buffer + slot);
    Memory by_sums = by_rows;
    std::vector<OwnWork> rows;
    for (int i = 0; i < 6; ++i) {
      OwnWork& row = rows.emplace_back();
      row.add = below(3) > 0;
      row.from = {below(3), below(3), 1};
      row.to = {1 + below(2), below(3), 1};
      at(by_rows, row.to) = (row.add ? at(by_rows, row.to) : 0) + at(by_rows, row.from);
    }
    const std::vector<OwnSum> sums = fused_sums(rows);
    for (const OwnSum& sum : sums) {
      int all = 0;
      for (const Span& from : sum.from) all += at(by_sums, from);
      at(by_sums, sum.to) = all;
    }
    ASSERT_EQ(by_sums, by_rows) << "run " << run;
    fewer += sums.size() < rows.size();
  }
  EXPECT_GT(fewer, 500);
}

// A function has had the first sum: what is added afterwards is a sum of its own.
TEST(OwnSteps, WhatAFunctionHasHadIsNotAddedTo) {
  const Span a{0, 0, 1}, b{0, 1, 1}, out{1, 0, 1};
  const std::vector<OwnSum> sums =
      fused_sums({{.from = a, .to = out, .completes = 3, .index = 0}, {.add = true, .from = b, .to = out}});
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].completes, 3);
  EXPECT_TRUE(sums[1].from.at(0).same_slot(out));
  EXPECT_TRUE(sums[1].from.at(1).same_slot(b));
}

// Blocks of 5 elements in 2 pieces: 3 and 2. Rank 0 sends a piece of each block, and adds what it has of it.
TEST(OwnSteps, PiecesBecomeRanges) {
  const std::array<int, 3> slots[] = {{4, 2, 1}, {4, 2, 1}};
  const StepMessage messages[] = {{0, 0, 0, 3, 1, 2, 0, 0, 1, 0}};
  const StepWork work[] = {{1, 0, 1, 2, 0, 1, 1, 0, 1, 3}};
  const StepTables tables{2, 1, 2, slots, messages, 1, work, 1};
  const EvenLengths lengths{{5, 2}};
  const OwnStep sender = own_steps(tables, 0, lengths).at(0), receiver = own_steps(tables, 1, lengths).at(0);
  EXPECT_TRUE(sender.receives.empty() && sender.work.empty() && receiver.sends.empty());
  EXPECT_EQ(sender.sends.at(0).from.begin, 8);
  EXPECT_EQ(sender.sends.at(0).from.count, 2);
  EXPECT_EQ(receiver.receives.at(0).to.buffer, 2);
  EXPECT_EQ(receiver.work.at(0).to.begin, 3);
  EXPECT_EQ(receiver.work.at(0).index, 3);
  EXPECT_TRUE(own_steps(tables, 0, EvenLengths{{1, 2}}).at(0).sends.empty());  // the second piece is empty
}

}  // namespace
}  // namespace chorale
