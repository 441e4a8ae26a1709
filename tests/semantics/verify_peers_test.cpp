// Programs over shared memory that are right, and one fault at a time in them.
#include "semantics/verify_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/faults.h"

namespace chorale {
namespace {

using test::Kind;
using test::says;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

DataPlace input(Rank n, int i) {
  return {{Buffer::Input, i}, n};
}
DataPlace output(Rank n, int i) {
  return {{Buffer::Output, i}, n};
}
DataPlace scratch(Rank n, int i) {
  return {{Buffer::Scratch, i}, n};
}

PeerInstruction move(std::vector<DataPlace> from, std::vector<DataPlace> to, int piece = 0, int count = 1) {
  return {.opcode = PeerOpcode::Move,
          .does = {.from = std::move(from), .to = std::move(to), .count = count, .piece = piece}};
}
PeerInstruction raise(Rank rank, int counter, int value = 1) {
  return {.opcode = PeerOpcode::Signal, .rank = rank, .counter = counter, .value = value};
}
PeerInstruction relaxed(Rank rank, int counter, int value = 1) {
  PeerInstruction signal = raise(rank, counter, value);
  signal.relaxed = true;
  return signal;
}
PeerInstruction wait(int counter, int value = 1, int lag = 0) {
  return {.opcode = PeerOpcode::Wait, .counter = counter, .value = value, .lag = lag};
}
const PeerInstruction sync = {};

std::vector<PeerInstruction>& block(PeerProgram& program, Rank n, int b = 0) {
  return program.ranks[n].blocks[b].instructions;
}

void erase(PeerProgram& program, Rank n, int i) {
  block(program, n).erase(block(program, n).begin() + i);
}

const Collective gather = make_collective("allgather", 2, 1);
const Collective sum = make_collective("allreduce", 2, 2);

// Both put their block into the other's mailbox and take it out there. Counter 0: the mailbox is full;
// counter 1: the other has emptied his mailbox, which is awaited from the launch before, as it is empty at
// first.
PeerProgram mailboxes() {
  PeerProgram p{.name = "mailboxes", .collective = CollectiveKind::Allgather};
  for (Rank n : {0, 1}) {
    const Rank other = 1 - n;
    PeerBlock block{{wait(1, 1, 1), sync,                                       // 0, 1
                     move({input(n, 0)}, {scratch(other, 0), output(n, n)}),    // 2
                     sync, raise(other, 0),                                     // 3, 4
                     wait(0), sync, move({scratch(n, 0)}, {output(n, other)}),  // 5, 6, 7
                     sync, raise(other, 1)}};                                   // 8, 9
    p.ranks.push_back(
        {.input_chunks = 1, .output_chunks = 2, .scratch_chunks = 1, .counters = 2, .blocks = {block}});
  }
  return p;
}

// In place, each rank is responsible for one chunk: it adds the other's to its own and stores the sum at
// both. The handshake before reports that the other's input is there, the one after that the sums are.
PeerProgram remote_sum() {
  PeerProgram p{
      .name = "remote sum", .collective = CollectiveKind::AllReduce, .chunks_per_block = 2, .in_place = true};
  for (Rank n : {0, 1}) {
    const Rank other = 1 - n;
    PeerBlock block{{relaxed(other, 0), wait(0), sync,                                           // 0, 1, 2
                     move({input(n, n), input(other, n)}, {output(n, n), output(other, n)}, n),  // 3
                     sync, raise(other, 0, 2), wait(0, 2)}};                                     // 4, 5, 6
    p.ranks.push_back({.input_chunks = 2, .output_chunks = 2, .counters = 1, .blocks = {block}});
  }
  return p;
}

// Wait 0 orders the sender's write after the receiver's read of the launch before; the first launch needs no
// wait. Nothing else is shared.
TEST(VerifyPeers, mailboxes_with_acknowledgements_are_right) {
  EXPECT_THAT(violations(gather, mailboxes()), IsEmpty());
}

// A relaxed signal hands on what was before the launch, and inputs were written before it.
TEST(VerifyPeers, an_entry_may_be_relaxed_as_inputs_are_from_before_the_launch) {
  EXPECT_THAT(violations(sum, remote_sum()), IsEmpty());
}

// With a scratch each for even and odd launches the mailbox of launch l is used again in launch l + 2. That
// the other has emptied it then is known from his signal of launch l + 1: he had finished launch l before.
TEST(VerifyPeers, two_scratches_need_no_acknowledgement_from_who_sends_in_each_launch) {
  PeerProgram p = mailboxes();
  p.double_scratch = true;
  for (Rank n : {0, 1}) {
    erase(p, n, 9);
    erase(p, n, 0);
  }
  EXPECT_THAT(violations(gather, p), IsEmpty());
  p.double_scratch = false;
  EXPECT_THAT(violations(gather, p), Not(IsEmpty()));
}

// An acknowledgement from two launches ago does for two scratches, but not for one.
TEST(VerifyPeers, a_lag_of_two_launches_orders_two_scratches) {
  PeerProgram p = mailboxes();
  for (Rank n : {0, 1}) block(p, n)[0].lag = 2;
  EXPECT_THAT(violations(gather, p),
              ElementsAre(says(Kind::Race, "nothing orders"), says(Kind::Race, "nothing orders")));
  p.double_scratch = true;
  EXPECT_THAT(violations(gather, p), IsEmpty());
}

// The next launch may fill the mailbox while it is being emptied.
TEST(VerifyPeers, a_mailbox_without_acknowledgement_is_overwritten) {
  PeerProgram p = mailboxes();
  erase(p, 0, 0);
  EXPECT_THAT(
      violations(gather, p),
      ElementsAre(
          says(Kind::Race,
               "rank 0, block 0, instruction 1 (move rank 0's input[0] to rank 1's scratch[0] and rank 0's "
               "output[0]) of launch 1: writes rank 1's scratch[0], and nothing orders that with rank 1, "
               "block 0, instruction 7 (move rank 1's scratch[0] to rank 1's output[0]) of launch 0, which "
               "reads it")));
}

// The signal may overtake the store, which other threads make.
TEST(VerifyPeers, a_signal_without_sync_says_nothing_of_the_move_before) {
  PeerProgram p = mailboxes();
  erase(p, 0, 3);
  EXPECT_THAT(violations(gather, p, {}, 1), ElementsAre(says(Kind::Race, "reads rank 1's scratch[0]")));
}

// One thread waits, others read at once.
TEST(VerifyPeers, what_a_wait_was_for_is_there_after_the_next_sync) {
  PeerProgram p = mailboxes();
  erase(p, 0, 6);
  EXPECT_THAT(violations(gather, p, {}, 1),
              ElementsAre(says(Kind::Race, "rank 0, block 0, instruction 6 (move rank 0's scratch[0]")));
}

TEST(VerifyPeers, a_missing_wait_is_a_race) {
  PeerProgram p = mailboxes();
  erase(p, 1, 5);
  EXPECT_THAT(violations(gather, p, {}, 1), ElementsAre(says(Kind::Race, "nothing orders")));
}

// The last thing is a store into the other's memory: the other's user may look before, or write over it.
TEST(VerifyPeers, a_rank_must_not_end_before_its_outputs_are_there) {
  PeerProgram p = remote_sum();
  for (Rank n : {0, 1}) erase(p, n, 6);
  EXPECT_THAT(violations(sum, p, {}, 100), testing::Contains(says(Kind::Race, "the user of rank")));
}

// Without the handshake at the start the other's user may still be writing his input.
TEST(VerifyPeers, inputs_of_others_are_there_when_their_launch_has_begun) {
  PeerProgram p = remote_sum();
  for (Rank n : {0, 1}) {
    erase(p, n, 1);
    erase(p, n, 0);
    block(p, n)[3] = raise(1 - n, 0, 1);
    block(p, n)[4] = wait(0, 1);
  }
  EXPECT_THAT(violations(sum, p, {}, 1),
              ElementsAre(says(Kind::Race, "the user of rank 1, between launches")));
}

// The same program with a relaxed signal at the end: wrong, unless relaxed signals order data.
TEST(VerifyPeers, a_relaxed_signal_hands_on_no_data) {
  PeerProgram p = remote_sum();
  for (Rank n : {0, 1}) block(p, n)[5] = relaxed(1 - n, 0, 2);
  EXPECT_THAT(violations(sum, p), Not(IsEmpty()));
  EXPECT_THAT(violations(sum, p, {.relaxed_orders = true}), IsEmpty());
}

// Threads of a block share out a chunk again in each move.
TEST(VerifyPeers, moves_of_a_block_need_a_sync_between_them) {
  PeerProgram p{.name = "copy twice", .collective = CollectiveKind::Allgather};
  const Collective one = make_collective("allgather", 1, 1);
  p.ranks = {{.input_chunks = 1, .output_chunks = 1, .scratch_chunks = 1, .blocks = {{}}}};
  block(p, 0) = {move({input(0, 0)}, {scratch(0, 0)}), sync, move({scratch(0, 0)}, {output(0, 0)})};
  EXPECT_THAT(violations(one, p), IsEmpty());
  erase(p, 0, 1);  // read after write
  EXPECT_THAT(violations(one, p), ElementsAre(says(Kind::Race, "nothing orders that with rank 0, block 0")));
  block(p, 0) = {move({input(0, 0)}, {output(0, 0)}), move({input(0, 0)}, {output(0, 0)})};
  EXPECT_THAT(
      violations(one, p),
      ElementsAre(says(Kind::Race, "nothing orders that with rank 0, block 0")));  // write after write
  p.in_place = true;  // Input and output are one slot.
  block(p, 0) = {move({input(0, 0)}, {scratch(0, 0)}), move({input(0, 0)}, {output(0, 0)})};
  EXPECT_THAT(violations(one, p), ElementsAre(says(Kind::Race, "which reads it")));  // write after read
}

// Chunk by chunk a move may write what it reads; shifted it may not, as another thread reads that.
TEST(VerifyPeers, a_move_may_not_shift_in_place) {
  PeerProgram p{.name = "shift", .collective = CollectiveKind::Allgather, .chunks_per_block = 2};
  const Collective one = make_collective("allgather", 1, 2);
  p.ranks = {{.input_chunks = 2, .output_chunks = 2, .scratch_chunks = 3, .blocks = {{}}}};
  block(p, 0) = {move({input(0, 0)}, {scratch(0, 0)}, 0, 2), sync,
                 move({scratch(0, 0)}, {scratch(0, 0)}, 0, 2), sync,
                 move({scratch(0, 0)}, {output(0, 0)}, 0, 2)};
  EXPECT_THAT(violations(one, p), IsEmpty());
  block(p, 0)[2] = move({scratch(0, 0)}, {scratch(0, 1)}, 0, 2);
  block(p, 0)[4] = move({scratch(0, 1)}, {output(0, 0)}, 0, 2);
  EXPECT_THAT(violations(one, p), ElementsAre(says(Kind::Race, "before or after it is written")));
}

// Both wait first.
TEST(VerifyPeers, waiting_for_each_other_hangs) {
  PeerProgram p = mailboxes();
  for (Rank n : {0, 1}) block(p, n)[0] = wait(0);
  EXPECT_THAT(violations(gather, p),
              ElementsAre(says(Kind::Deadlock,
                               "rank 0, block 0, instruction 0 (wait for counter 0 to be 1) waits "
                               "forever in launch 0"),
                          says(Kind::Deadlock, "rank 1")));
}

// Rank 0 goes into the next launch, where it waits for what rank 1 will never do.
TEST(VerifyPeers, ranks_run_ahead_of_each_other_as_far_as_counters_let_them) {
  PeerProgram p = mailboxes();
  block(p, 0)[0].lag = 0;
  EXPECT_THAT(violations(gather, p), Each(says(Kind::Deadlock, "forever in launch 0")));
}

// Rank 1 empties the mailbox before it lets rank 0 fill it. All is in order, but what it takes out is what
// the launch before has left: in the first launch, nothing.
TEST(VerifyPeers, data_of_an_earlier_launch_are_not_this_one_s) {
  const Collective broadcast = make_collective("broadcast", 2, 1);
  PeerProgram p{.name = "late", .collective = CollectiveKind::Broadcast};
  p.ranks = {{.input_chunks = 1, .output_chunks = 1, .counters = 1, .blocks = {{}}},
             {.output_chunks = 1, .scratch_chunks = 1, .counters = 1, .blocks = {{}}}};
  block(p, 0) = {wait(0), sync, move({input(0, 0)}, {output(0, 0), scratch(1, 0)}), sync, raise(1, 0)};
  block(p, 1) = {move({scratch(1, 0)}, {output(1, 0)}), sync, raise(0, 0), wait(0)};
  EXPECT_THAT(violations(broadcast, p, {}, 1),
              ElementsAre(says(Kind::Absent, "scratch[0] was never written")));
  block(p, 1) = {raise(0, 0), wait(0), sync, move({scratch(1, 0)}, {output(1, 0)})};
  EXPECT_THAT(violations(broadcast, p), IsEmpty());
}

// Twice rank 1's contribution, not rank 0's.
TEST(VerifyPeers, contributions_are_counted) {
  PeerProgram p = remote_sum();
  block(p, 0)[3].does.from = {input(1, 0), input(1, 0)};
  EXPECT_THAT(violations(sum, p, {}, 1),
              ElementsAre(says(Kind::Outcome,
                               "at the end of launch 0: output[0] of rank 0 lacks input[0] of rank 0")));
}

TEST(VerifyPeers, outputs_are_written) {
  PeerProgram p = mailboxes();
  block(p, 0)[2].does.to.pop_back();
  EXPECT_THAT(violations(gather, p, {}, 1),
              ElementsAre(says(Kind::Outcome, "at the end of launch 0: rank 0 has not written output[0]")));
}

TEST(VerifyPeers, the_input_is_read_only_out_of_place) {
  PeerProgram p = mailboxes();
  block(p, 0)[7].does.to = {input(0, 0)};
  EXPECT_THAT(violations(gather, p), ElementsAre(says(Kind::Written, "writes the input")));
}

TEST(VerifyPeers, form_is_checked_first) {
  const auto fault = [](const std::function<void(PeerProgram&)>& change) {
    PeerProgram p = mailboxes();
    change(p);
    const std::vector<Fault> found = violations(gather, p);
    return found.empty() ? Fault{} : found.front();
  };
  EXPECT_THAT(fault([](auto& p) { p.ranks.pop_back(); }), says(Kind::Size, "for 2 ranks, the program for 1"));
  EXPECT_THAT(fault([](auto& p) { p.chunks_per_block = 2; }), says(Kind::Size, "2 chunks per block"));
  EXPECT_THAT(fault([](auto& p) { p.ranks[1].input_chunks = 2; }),
              says(Kind::Size, "the input has 2 chunks"));
  EXPECT_THAT(fault([](auto& p) { p.ranks[1].output_chunks = 1; }),
              says(Kind::Size, "the output has 1 chunk,"));
  EXPECT_THAT(fault([](auto& p) { p.ranks[1].scratch_chunks = -1; }), says(Kind::Size, "scratch has -1"));
  EXPECT_THAT(fault([](auto& p) { p.ranks[1].counters = -1; }), says(Kind::Form, "-1 counters"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[2].does.from.clear(); }),
              says(Kind::Form, "moves from nowhere"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[2].does.count = 0; }), says(Kind::Form, "moves 0 chunks"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[2].does.piece = 1; }), says(Kind::Form, "piece 1 of 1"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[2].does.to[0].rank = 2; }),
              says(Kind::Form, "there is no rank 2"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[2].does.to[0].slot.index = 1; }),
              says(Kind::Form, "the buffer has 1"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[4].rank = 2; }), says(Kind::Form, "there is no rank 2"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[4].counter = 2; }), says(Kind::Form, "has 2 counters"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[4].value = 0; }), says(Kind::Form, "values begin at 1"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[4].value = 2; }),
              says(Kind::Match, "is at 0 and can become 1 only"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[5].value = 2; }), says(Kind::Deadlock, "becomes 1 at most"));
  EXPECT_THAT(fault([](auto& p) { block(p, 0)[0].lag = 3; }), says(Kind::Form, "a lag of 3"));
  EXPECT_THAT(fault([](auto& p) { p.ranks[0].blocks.push_back({{raise(1, 0)}}); }),
              says(Kind::Match, "is raised by rank 0, block 0 too"));
}

// A slot of the second piece under the name of the first.
TEST(VerifyPeers, pieces_are_kept_apart) {
  PeerProgram p = remote_sum();
  block(p, 0)[3].does.from[1] = input(1, 1);
  EXPECT_THAT(violations(sum, p),
              ElementsAre(says(Kind::Form, "rank 1's input[1] is not piece 0 of its block")));
}

}  // namespace
}  // namespace chorale
