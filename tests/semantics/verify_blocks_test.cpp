// Threads do the chunks of an operation in any order, so what one of them stores may be no other's. Programs
// are in tests/codegen; here are operations that meet themselves.
#include "semantics/verify_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace chorale {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Two ranks exchange their blocks, and one operation over slots of scratch, which hold something, stands
// before it.
std::vector<Fault> faults_of(const DataOperation& op) {
  BlockProgram program{.name = "one operation", .collective = CollectiveKind::Alltoall};
  for (Rank n = 0; n < 2; ++n) {
    Block block{.send_to = 1 - n, .recv_from = 1 - n};
    for (int s = 0; s < 5; ++s)
      block.instructions.push_back({.does = copying({Buffer::Input, n}, {Buffer::Scratch, s})});
    block.instructions.push_back({.does = op});
    block.instructions.push_back({.does = sending({Buffer::Input, 1 - n})});
    block.instructions.push_back({.does = receiving({Buffer::Output, 1 - n})});
    block.instructions.push_back({.does = copying({Buffer::Input, n}, {Buffer::Output, n})});
    program.ranks.push_back(
        {.input_chunks = 2, .output_chunks = 2, .scratch_chunks = 5, .blocks = {std::move(block)}});
  }
  return violations(make_collective("alltoall", 2, 1), program, {.depth = 1});
}

DataOperation over_two_chunks(std::vector<int> from, std::vector<int> to) {
  DataOperation op{.count = 2};
  for (const int s : from) op.from.push_back({.slot = {Buffer::Scratch, s}});
  for (const int s : to) op.to.push_back({.slot = {Buffer::Scratch, s}});
  return op;
}

TEST(ChunksOfAnOperation, AreIndependent) {
  EXPECT_THAT(faults_of(over_two_chunks({0}, {2})), IsEmpty());
  EXPECT_THAT(faults_of(over_two_chunks({0, 2}, {0})), IsEmpty());  // each chunk adds to its own
  EXPECT_THAT(faults_of(over_two_chunks({0}, {2, 2})), IsEmpty());  // twice the same
  EXPECT_THAT(faults_of(over_two_chunks({0, 1}, {3})), IsEmpty());  // slot 1 is read by both
}

TEST(ChunksOfAnOperation, MayNotMeet) {
  const auto expect = [](const DataOperation& op, const std::string& words) {
    const std::vector<Fault> faults = faults_of(op);
    ASSERT_FALSE(faults.empty()) << to_string(op);
    EXPECT_EQ(faults.front().kind, Fault::Kind::Race) << to_string(op);
    EXPECT_THAT(faults.front().words, HasSubstr(words)) << to_string(op);
  };
  expect(over_two_chunks({0}, {1}), "other threads may read scratch[1]");
  // Slot 1 is read by both chunks; that the second one stores it hides nothing.
  expect(over_two_chunks({0, 1}, {0}), "other threads may read scratch[1]");
  expect(over_two_chunks({1, 0}, {0}), "other threads may read scratch[1]");
  expect(over_two_chunks({0}, {2, 1}), "other threads may read scratch[1]");
  // Both chunks store slot 3.
  expect(over_two_chunks({0}, {2, 3}), "several chunks are stored in scratch[3]");
}

}  // namespace
}  // namespace chorale
