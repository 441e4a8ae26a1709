// Runs the program once on symbolic sums to see where they become complete, and cuts instructions open there.
#include "codegen/passes/epilogue.h"

#include <deque>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/passes/events.h"
#include "ir/error.h"
#include "semantics/symbolic_sum.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

// Which chunks of an instruction it completes: offset and position.
using Completed = std::vector<std::pair<int, int>>;

class CompletionFinder {
 public:
  CompletionFinder(const Collective& collective, const BlockProgram& program)
      : program_(program), held_(program.ranks.size()) {
    for (const BlockRank& rank : program.ranks) {
      next_.emplace_back(rank.blocks.size(), 0);
      completed_.emplace_back(rank.blocks.size());
      first_place_.push_back(places_);
      places_ += rank.input_chunks;
    }
    for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
      for (int i = 0; i < program.ranks[n].input_chunks; ++i)
        held_[n][where(n, {Buffer::Input, i})] = {{first_place_[n] + i, 1}};
    // Chunks that do not combine but share an output are added there.
    std::map<std::pair<Rank, int>, std::pair<int, SymbolicSum>> outputs;
    for (const ChunkSpec& spec : collective.chunks)
      for (Rank n : spec.post) {
        auto& [position, sum] =
            outputs.try_emplace({n, spec.output}, spec.input, SymbolicSum()).first->second;
        for (Rank i : spec.pre) {
          sum = added(sum, {{first_place_[i] + spec.input, 1}});
          if (!collective.combining) break;
        }
      }
    for (const auto& [output, sum] : outputs)
      if (sum.second.size() > 1) position_of_.emplace(sum.second, sum.first);
  }

  bool adds() const { return !position_of_.empty(); }

  // By rank, block and instruction.
  const std::vector<std::vector<std::vector<Completed>>>& run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank n = 0; n < static_cast<int>(program_.ranks.size()); ++n)
        for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
          while (step(n, b)) moved = true;
    }
    return completed_;
  }

 private:
  using Message = std::vector<SymbolicSum>;

  Slot where(Rank n, const Slot& slot) const {
    return program_.in_place ? in_place_slot(program_.collective, program_.chunks_per_block, n, slot) : slot;
  }

  bool is_ready(Rank n, const Block& block, const BlockInstruction& i) {
    for (const BlockReference& before : i.after)
      if (next_[n][before.block] <= before.instruction) return false;
    if (i.opcode == BlockOpcode::Barrier)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b) {
        const std::vector<BlockInstruction>& list = program_.ranks[n].blocks[b].instructions;
        for (int k = next_[n][b] + 1; k < static_cast<int>(list.size()); ++k)
          if (list[k].opcode == BlockOpcode::Barrier && list[k].barrier == i.barrier) return false;
      }
    return !receives(i.opcode) || !queues_[{block.recv_from, n, block.channel}].empty();
  }

  bool step(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    int& number = next_[n][b];
    if (number == static_cast<int>(block.instructions.size())) return false;
    const BlockInstruction& i = block.instructions[number];
    if (!is_ready(n, block, i)) return false;
    Message message, result;
    if (receives(i.opcode)) {
      auto& queue = queues_[{block.recv_from, n, block.channel}];
      message = std::move(queue.front());
      queue.pop_front();
    }
    Completed completed;
    for (int k = 0; k < i.count; ++k) {
      SymbolicSum value = receives(i.opcode) ? message.at(k) : SymbolicSum();
      if (reads_src(i.opcode)) value = added(value, held_[n][where(n, next_slot(i.src, k))]);
      if (reads_dst(i.opcode)) value = added(value, held_[n][where(n, next_slot(i.dst, k))]);
      if (const auto at = position_of_.find(value); at != position_of_.end() && reduces(i.opcode))
        completed.push_back({k, at->second});
      result.push_back(std::move(value));
    }
    for (int k = 0; k < i.count && writes_dst(i.opcode); ++k)
      held_[n][where(n, next_slot(i.dst, k))] = result[k];
    if (sends(i.opcode)) queues_[{n, block.send_to, block.channel}].push_back(std::move(result));
    completed_[n][b].push_back(std::move(completed));
    ++number;
    return true;
  }

  const BlockProgram& program_;
  int places_ = 0;
  std::vector<int> first_place_ = {};              // by rank
  std::map<SymbolicSum, int> position_of_ = {};    // of complete sums
  std::vector<std::map<Slot, SymbolicSum>> held_;  // by rank
  std::vector<std::vector<int>> next_ = {};        // by rank and block
  std::vector<std::vector<std::vector<Completed>>> completed_ = {};
  std::map<std::tuple<Rank, Rank, int>, std::deque<Message>> queues_ = {};
};

// The instruction, then the epilogues, then what is to be sent.
std::vector<BlockInstruction> cut_open(const BlockInstruction& i, const Completed& completed, int pieces,
                                       BlockRank& rank) {
  if (completed.empty()) return {i};
  BlockInstruction first = i;
  std::optional<BlockInstruction> send;
  if (sends(i.opcode)) {
    first.opcode = BlockOpcode::RecvReduce;
    if (!writes_dst(i.opcode)) {
      first.dst = {Buffer::Scratch, rank.scratch_chunks};
      rank.scratch_chunks += i.count;
    }
    send =
        BlockInstruction{.opcode = BlockOpcode::Send, .src = first.dst, .count = i.count, .piece = i.piece};
  }
  std::vector<BlockInstruction> result = {first};
  for (const auto& [k, position] : completed) {
    BlockInstruction& last = result.back();
    if (last.opcode == BlockOpcode::Epilogue && last.dst.index + last.count == first.dst.index + k &&
        last.position + last.count == position)
      ++last.count;
    else
      result.push_back({.opcode = BlockOpcode::Epilogue,
                        .dst = next_slot(first.dst, k),
                        .piece = (i.piece + k) % pieces,
                        .position = position});
  }
  if (send) result.push_back(*send);
  return result;
}

}  // namespace

std::map<int, std::set<Rank>> completion_points(const Collective& collective, const BlockProgram& program) {
  std::map<int, std::set<Rank>> points;
  CompletionFinder finder(collective, program);
  const auto& completed = finder.run();
  for (Rank n = 0; n < static_cast<int>(completed.size()); ++n)
    for (const auto& block : completed[n])
      for (const Completed& instruction : block)
        for (const auto& [k, position] : instruction) points[position].insert(n);
  return points;
}

BlockProgram with_epilogue(const Collective& collective, const BlockProgram& program) {
  CompletionFinder finder(collective, program);
  if (!finder.adds())
    throw InputError(program.name, name_of(collective) + " has no sums that an epilogue could follow",
                     "use a reduce, reducescatter or allreduce");
  const auto& completed = finder.run();
  BlockProgram result = program;
  for (Rank n = 0; n < static_cast<int>(result.ranks.size()); ++n) {
    BlockRank& rank = result.ranks[n];
    std::vector<std::vector<int>> last(rank.blocks.size());  // by block and old instruction: the last new one
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      std::vector<BlockInstruction> list;
      for (std::size_t i = 0; i < rank.blocks[b].instructions.size(); ++i) {
        for (const BlockInstruction& each :
             cut_open(rank.blocks[b].instructions[i], completed[n][b].at(i), program.chunks_per_block, rank))
          list.push_back(each);
        last[b].push_back(static_cast<int>(list.size()) - 1);
      }
      rank.blocks[b].instructions = std::move(list);
    }
    for (Block& block : rank.blocks)
      for (BlockInstruction& i : block.instructions)
        for (BlockReference& before : i.after) before.instruction = last[before.block][before.instruction];
  }
  if (const auto faults =
          violations(collective, result, {.depth = result.queue_depth, .in_place = result.in_place}, 1);
      !faults.empty())
    throw std::logic_error("the epilogue in " + program.name + " is wrong: " + faults.front().words);
  return result;
}

}  // namespace chorale
