// The idea: what arrives in a queue does not depend on timing (one sender, one receiver), so instructions are
// run one by one, in any order in which they can, and one that cannot run in the end waits forever. An
// instruction knows what its block knew, what those that it names in `after` knew at their ends, what the
// sender of its message knew, and at a barrier what all participants know. Clocks record that; the depth of
// queues orders nothing. (Running many interleavings instead was never tried: one run with clocks covers all
// of them.)
//
// Why one run decides: an instruction that can run stays able to run whatever others do, since no other block
// empties the queue that it takes from, fills the one that it sends into, or takes back what it waits for. So
// all orders end in the same state, as in Kahn's networks (1974), and with the same values unless there is a
// race, which the clocks show in any order. Depth counts where an instruction waits for room, but room
// implies nothing about what the receiver has done with the data; so a program that is right here has no
// races with deeper queues either.
//
// Every instruction keeps the clock of all blocks at its end: blocks * instructions numbers, which ir/sizes.h
// bounds for files.
#include "semantics/verify_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "ir/words.h"
#include "semantics/symbolic_machine.h"

namespace chorale {
namespace {

struct Letter {
  std::vector<SymbolicValue> values = {};
  Clock clock = {};
};

class BlockVerifier final : BlockMachine<BlockProgram> {
 public:
  BlockVerifier(const Collective& collective, const BlockProgram& program,
                const BlockVerifierOptions& options, int limit)
      : BlockMachine(collective, program, options.in_place, limit), depth_(options.depth) {}

  // Round-robin over blocks, each as far as it can: any order decides (see above), and this one is
  // deterministic, so that faults come in the same order every time.
  std::vector<Fault> run() {
    form();
    if (found_.empty()) barriers();
    if (found_.empty()) connections();
    if (!found_.empty()) return std::move(found_);
    start();
    bool moved = true;
    while (moved && !full()) {
      moved = false;
      for (Rank n = 0; n < ranks(); ++n)
        for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
          while (!full() && can_step(n, b)) {
            step(n, b);
            moved = true;
          }
    }
    ends();
    if (found_.empty())
      for (Rank n = 0; n < ranks(); ++n) outputs(n, "at the end");
    return std::move(found_);
  }

 private:
  using Connection = std::tuple<Rank, Rank, int>;  // from, to, channel

  void form() {
    for (Rank n = 0; n < ranks() && !full(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        for (Rank peer : {program_.ranks[n].blocks[b].send_to, program_.ranks[n].blocks[b].recv_from})
          if (peer < -1 || peer >= ranks() || peer == n)
            report(Kind::Form, {.rank = n, .block = b}, "rank {}, block {}: there is no peer {}", n, b, peer);
    for_each_instruction(program_, [this](Rank n, int b, int number, const BlockInstruction& i) {
      const Block& block = program_.ranks[n].blocks[b];
      const Access here = at(n, b, number);
      own_operation_form(n, i.does, here);
      if (!does_nothing(i.does) && (operands(i.does) == 0 || (i.does.to.empty() && !i.does.sends)))
        complain(Kind::Form, here, "moves from nowhere, or to nowhere");
      if (i.does.sends && block.send_to < 0) complain(Kind::Form, here, "the block has no peer to send to");
      if (i.does.takes && block.recv_from < 0)
        complain(Kind::Form, here, "the block has no peer to receive from");
      if (i.barrier >= 0) {
        meetings_[{n, i.barrier}].push_back({b, number});
        if (!does_nothing(i.does)) complain(Kind::Form, here, "does more than to wait");
      }
      const auto& blocks = program_.ranks[n].blocks;
      for (const BlockReference& before : i.after)
        if (before.block < 0 || before.block >= static_cast<int>(blocks.size()) || before.instruction < 0 ||
            before.instruction >= static_cast<int>(blocks[before.block].instructions.size()))
          complain(Kind::Form, here, "depends on what does not exist");
    });
  }

  // A meeting lists its instructions block by block, so those of one block are neighbours.
  void barriers() {
    for (const auto& [barrier, meeting] : meetings_) {
      if (meeting.size() == 1)
        report(Kind::Match, {.rank = barrier.first, .block = meeting.front().block},
               "rank {}: no other block has barrier {} of block {}", barrier.first, barrier.second,
               meeting.front().block);
      for (std::size_t k = 1; k < meeting.size(); ++k)
        if (meeting[k].block == meeting[k - 1].block)
          report(Kind::Match, {.rank = barrier.first, .block = meeting[k].block},
                 "rank {}: block {} has barrier {} twice", barrier.first, meeting[k].block, barrier.second);
    }
  }

  // A queue with two senders does not have an order of its own: what arrives would depend on timing, and one
  // run would not decide.
  void connections() {
    std::map<Connection, std::pair<int, int>> ends;  // senders, receivers
    for (Rank n = 0; n < ranks(); ++n)
      for (const Block& block : program_.ranks[n].blocks) {
        const auto any = [&](bool DataOperation::*is) {
          return std::ranges::any_of(block.instructions,
                                     [&](const BlockInstruction& i) { return i.does.*is; });
        };
        if (any(&DataOperation::sends)) ++ends[{n, block.send_to, block.channel}].first;
        if (any(&DataOperation::takes)) ++ends[{block.recv_from, n, block.channel}].second;
      }
    for (const auto& [connection, count] : ends)
      if (count.first != 1 || count.second != 1)
        report(Kind::Match, {.rank = std::get<0>(connection)}, "connection {} -> {} on channel {}: {} and {}",
               std::get<0>(connection), std::get<1>(connection), std::get<2>(connection),
               counted(count.first, "sender"), counted(count.second, "receiver"));
  }

  void start() {
    write_inputs();
    const std::size_t blocks = all_blocks();
    next_.resize(blocks, 0);
    clocks_.resize(blocks, Clock(blocks, 0));
    at_end_.resize(blocks);
  }

  // The conditions in its rank that an instruction waits for, in words.
  std::string waits_here(Rank n, const BlockInstruction& i) const {
    for (const BlockReference& before : i.after)
      if (next_[first_block_[n] + before.block] <= before.instruction)
        return fmt::format("block {}, instruction {}", before.block, before.instruction);
    return "";
  }

  // The condition that the next instruction waits for, in words; empty if it can run.
  // In words, since the same question is asked at the end of instructions that never ran.
  std::string waits(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    const BlockInstruction& i = block.instructions[next_[first_block_[n] + b]];
    if (const std::string words = waits_here(n, i); !words.empty()) return words;
    if (i.barrier >= 0)
      for (const BlockReference& other : meetings_.at({n, i.barrier}))
        if (next_[first_block_[n] + other.block] != other.instruction ||
            !waits_here(n, program_.ranks[n].blocks[other.block].instructions[other.instruction]).empty())
          return fmt::format("block {} at barrier {}", other.block, i.barrier);
    if (i.does.takes && queues_[{block.recv_from, n, block.channel}].empty())
      return fmt::format("a message from rank {} on channel {}", block.recv_from, block.channel);
    if (i.does.sends && static_cast<int>(queues_[{n, block.send_to, block.channel}].size()) >= depth_)
      return fmt::format("room in the queue to rank {} on channel {}", block.send_to, block.channel);
    return "";
  }

  bool can_step(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    return next_[first_block_[n] + b] < static_cast<int>(block.instructions.size()) && waits(n, b).empty();
  }

  // All blocks that meet go on at once, and each knows what all of them have done.
  void meet(Rank n, int barrier) {
    const std::vector<BlockReference>& meeting = meetings_.at({n, barrier});
    Clock all(all_blocks(), 0);
    for (const BlockReference& each : meeting) {
      learn(all, clocks_[first_block_[n] + each.block]);
      for (const BlockReference& before :
           program_.ranks[n].blocks[each.block].instructions[each.instruction].after)
        learn(all, at_end_[first_block_[n] + before.block][before.instruction]);
    }
    for (const BlockReference& each : meeting) {
      const int block = first_block_[n] + each.block;
      clocks_[block] = all;
      ++clocks_[block][block];
      at_end_[block].push_back(clocks_[block]);
      ++next_[block];
    }
  }

  // First all that is learned, then the count of the block itself, then the accesses: so phase k of a block
  // is its k-th instruction, and a clock that contains it contains its accesses. A message of the wrong size
  // is cut or filled up, so that what follows can still be checked.
  void step(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    const int self = first_block_[n] + b, number = next_[self];
    const BlockInstruction& i = block.instructions[number];
    if (i.barrier >= 0) return meet(n, i.barrier);
    Clock& clock = clocks_[self];
    for (const BlockReference& before : i.after)
      learn(clock, at_end_[first_block_[n] + before.block][before.instruction]);
    Letter arrived;
    if (i.does.takes) {
      auto& queue = queues_[{block.recv_from, n, block.channel}];
      arrived = std::move(queue.front());
      queue.pop_front();
      learn(clock, arrived.clock);
      if (static_cast<int>(arrived.values.size()) != i.does.count)
        complain(Kind::Match, at(n, b, number), "receives {}, but {} sent", counted(i.does.count, "chunk"),
                 arrived.values.size());
      arrived.values.resize(i.does.count);
    }
    ++clock[self];
    const auto ordered = [&](const Cell&, const Access& before) {
      return before.actor == self || clock[before.actor] >= before.phase;
    };
    std::vector<SymbolicValue> results =
        perform(i.does,
                {.rank = n,
                 .block = b,
                 .access = {.actor = self, .phase = clock[self], .instruction = number},
                 .ordered = ordered},
                arrived.values);
    if (i.does.sends) queues_[{n, block.send_to, block.channel}].push_back({std::move(results), clock});
    at_end_[self].push_back(clock);
    ++next_[self];
  }

  // An instruction that cannot run now never will, so what it waits for can be named. Messages left over are
  // reported only if all else is well: behind a hang they mean nothing.
  void ends() {
    for (Rank n = 0; n < ranks(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        if (const int i = next_[first_block_[n] + b];
            !full() && i < static_cast<int>(program_.ranks[n].blocks[b].instructions.size()))
          report(Kind::Deadlock, place(at(n, b, i)), "{} waits forever for {}, with queues of depth {}",
                 name(at(n, b, i)), waits(n, b), depth_);
    for (const auto& [connection, queue] : queues_)
      if (!queue.empty() && found_.empty())
        report(Kind::Match, {.rank = std::get<1>(connection)},
               "{} from rank {} to rank {} on channel {}, never received",
               counted(static_cast<long long>(queue.size()), "message"), std::get<0>(connection),
               std::get<1>(connection), std::get<2>(connection));
  }

  const int depth_;
  std::map<std::pair<Rank, int>, std::vector<BlockReference>> meetings_ = {};  // by rank and barrier
  std::vector<int> next_ = {};                                                 // by block
  std::vector<Clock> clocks_ = {};                                             // by block
  std::vector<std::vector<Clock>> at_end_ = {};                                // by block and instruction
  std::map<Connection, std::deque<Letter>> queues_ = {};
};

}  // namespace

std::vector<Fault> violations(const Collective& collective, const BlockProgram& program,
                              const BlockVerifierOptions& options, int limit) {
  std::vector<Fault> faults = size_faults(collective, program);
  return faults.empty() ? BlockVerifier(collective, program, options, limit).run() : faults;
}

}  // namespace chorale
