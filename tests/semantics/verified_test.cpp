// What is Verified was accepted, and stays what it was accepted as.
#include "semantics/verified.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "ir/error.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

static_assert(!std::is_default_constructible_v<Verified<Program>>);
static_assert(!std::is_constructible_v<Verified<Schedule>, Schedule>);
static_assert(!std::is_constructible_v<Verified<Program>, std::shared_ptr<const VerifiedFor>, Program>);
static_assert(!std::is_assignable_v<decltype(*std::declval<Verified<Schedule>&>()), Schedule>);

// Two ranks that exchange their blocks in one step.
const Topology pair = test::ring(2);
const Collective kOneBlock = make_collective("allgather", 2, 1);
const Schedule exchange{
    .steps = {{.rounds = 1, .sends = {{.chunk = 0, .link = 0}, {.chunk = 1, .link = 2}}}}};

TEST(Verified, CarriesWhatItWasAcceptedFor) {
  const Verification<Schedule> verification = verify(pair, kOneBlock, exchange);
  ASSERT_TRUE(verification.accepted);
  EXPECT_FALSE(verification.fault);
  const Verified<Schedule> copy = *verification.accepted;
  EXPECT_EQ(*copy, exchange);
  EXPECT_EQ(copy.topology(), pair);
  EXPECT_EQ(copy.collective(), kOneBlock);
  EXPECT_EQ(&*copy, &**verification.accepted);  // shared, so that it can be handed on at no cost
}

TEST(Verified, NothingWrongIs) {
  Schedule lost = exchange;
  lost.steps[0].sends.pop_back();
  const Verification<Schedule> verification = verify(pair, kOneBlock, lost);
  EXPECT_FALSE(verification.accepted);
  ASSERT_TRUE(verification.fault);
  EXPECT_NE(verification.fault->words.find("rank 0 does not have chunk 1"), std::string::npos)
      << verification.fault->words;
  EXPECT_THROW(accepted(pair, kOneBlock, lost), InputError);
  // A point's cost is verified, too.
  Point point{.cost = {.steps = 1, .rounds = 1}, .collective = kOneBlock, .schedule = exchange};
  EXPECT_TRUE(verify(pair, kOneBlock, point).accepted);
  point.cost.rounds = 2;
  EXPECT_FALSE(verify(pair, kOneBlock, point).accepted);
}

// A program that does nothing is none of this schedule's, in any form.
TEST(Verified, ProgramsAreOfWhatTheyWereMadeOf) {
  const Verified<Schedule> schedule = accepted(pair, kOneBlock, exchange);
  Program idle{.collective = kOneBlock.kind};
  idle.ranks.resize(2, {.input_chunks = 1, .output_chunks = 2, .blocks = {{}}});
  EXPECT_FALSE(verify(schedule, idle).accepted);
  BlockProgram blocks{.collective = kOneBlock.kind};
  blocks.ranks.resize(2, {.input_chunks = 1, .output_chunks = 2, .blocks = {{}}});
  EXPECT_FALSE(verify(kOneBlock, blocks, {}).accepted);
  // One rank alone keeps its block.
  const Collective alone = make_collective("allgather", 1, 1);
  blocks.ranks = {
      {.input_chunks = 1,
       .output_chunks = 1,
       .blocks = {{.instructions = {{.does = copying({Buffer::Input, 0}, {Buffer::Output, 0})}}}}}};
  EXPECT_TRUE(verify(alone, blocks, {}).accepted);
}

}  // namespace
}  // namespace chorale
