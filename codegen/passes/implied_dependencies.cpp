// The program is run on vector clocks: how far every block of every rank must have come when a block has come
// this far, by what it did, what it waited for, and what the clocks of its messages' senders were. A
// dependency is dropped where that is known without it, or where another dependency of the same instruction
// brings it along. Each instruction is examined once, after all that it waits for; blocks that wait forever
// keep what they have, and the verifier will report it.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/passes/block_passes.h"

namespace chorale {
namespace {

// How far each block of each rank must have come, by block numbered through.
using Reached = std::vector<int>;

// Clocks are by block, all ranks' blocks numbered through; after_ keeps one for each instruction that has
// run.
class ImpliedDependencies {
 public:
  explicit ImpliedDependencies(BlockProgram& program) : program_(program) {
    for (const BlockRank& rank : program.ranks) {
      first_block_.push_back(blocks_);
      blocks_ += static_cast<int>(rank.blocks.size());
    }
    next_.resize(blocks_, 0);
    reached_.resize(blocks_, Reached(blocks_, 0));
    after_.resize(blocks_);
  }

  // Rounds over all blocks until none goes on; an instruction that cannot run yet is asked again in the next
  // round.
  void drop() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank n = 0; n < static_cast<int>(program_.ranks.size()); ++n)
        for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
          while (next_[first_block_[n] + b] <
                     static_cast<int>(program_.ranks[n].blocks[b].instructions.size()) &&
                 step(n, b))
            moved = true;
    }
  }

 private:
  // False: it waits. A message has the clock of its sender, behind the send. Dependencies that stay bring the
  // clocks behind the instructions that they name.
  bool step(Rank n, int b) {
    Block& block = program_.ranks[n].blocks[b];
    const int self = first_block_[n] + b;
    BlockInstruction& i = block.instructions[next_[self]];
    for (const BlockReference& before : i.after)
      if (next_[first_block_[n] + before.block] <= before.instruction) return false;
    std::vector<Reached>& queue = queues_[{block.recv_from, n, block.channel}];
    Reached reached = reached_[self];
    if (i.does.takes) {
      if (queue.empty()) return false;
      join(reached, queue.front());
      queue.erase(queue.begin());
    }
    // One that another one brings along is not needed.
    std::vector<BlockReference> needed;
    for (const BlockReference& before : i.after) {
      const auto brings = [&](const Reached& r) {
        return r[first_block_[n] + before.block] > before.instruction;
      };
      bool implied = brings(reached);
      for (const BlockReference& other : i.after)
        implied =
            implied || (other != before && brings(after_[first_block_[n] + other.block][other.instruction]));
      if (!implied) needed.push_back(before);
    }
    for (const BlockReference& before : needed)
      join(reached, after_[first_block_[n] + before.block][before.instruction]);
    i.after = needed;
    reached[self] = ++next_[self];
    reached_[self] = reached;
    after_[self].push_back(reached);
    if (i.does.sends) queues_[{n, block.send_to, block.channel}].push_back(reached);
    return true;
  }

  static void join(Reached& to, const Reached& from) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::max(to[k], from[k]);
  }

  BlockProgram& program_;
  int blocks_ = 0;
  std::vector<int> first_block_ = {}, next_ = {};
  std::vector<Reached> reached_ = {};
  std::vector<std::vector<Reached>> after_ = {};  // by block and instruction
  std::map<std::tuple<Rank, Rank, int>, std::vector<Reached>> queues_ = {};
};

}  // namespace

void drop_implied_dependencies(BlockProgram& program) {
  ImpliedDependencies(program).drop();
}

}  // namespace chorale
