#include "codegen/passes/in_place.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "codegen/passes/passes.h"
#include "ir/block_program.h"
#include "semantics/verify_program.h"

namespace chorale {
namespace {

class SharedMemory {
 public:
  SharedMemory(const Collective& collective, Rank rank, RankProgram& program)
      : collective_(collective), rank_(rank), program_(program) {}

  // Both passes; true if inputs are saved, in step -1.
  bool share() {
    for (ThreadBlock& block : program_.blocks) add_to_input(block.instructions);
    for (ThreadBlock& block : program_.blocks)
      std::erase_if(block.instructions, [this](const Instruction& i) { return copies_onto_itself(i); });
    return save_inputs();
  }

 private:
  Slot where(const Slot& slot) const {
    return in_place_slot(collective_.kind, collective_.chunks_per_block, rank_, slot);
  }
  bool same_place(const Slot& a, const Slot& b) const { return a != b && where(a) == where(b); }
  bool copies_onto_itself(const Instruction& i) const {
    return i.opcode == Opcode::Copy && same_place(i.src, i.dst);
  }
  static bool reads(const Instruction& i) { return i.opcode != Opcode::Recv; }
  static bool writes(const Instruction& i) { return i.opcode != Opcode::Send; }
  Slot new_scratch() { return {Buffer::Scratch, program_.scratch_chunks++}; }

  // A receive whose slot the input in its place is added to next: what arrives is added to the input instead.
  void add_to_input(std::vector<Instruction>& instructions) {
    std::map<Slot, bool> written;  // by place
    for (std::size_t k = 0; k < instructions.size(); ++k) {
      Instruction& recv = instructions[k];
      if (!writes(recv)) continue;
      const bool first = !written[where(recv.dst)];
      written[where(recv.dst)] = true;
      if (!first || recv.opcode != Opcode::Recv || recv.dst.buffer == Buffer::Scratch) continue;
      const auto next = std::find_if(instructions.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                     instructions.end(), [&](const Instruction& i) {
                                       return (reads(i) && where(i.src) == where(recv.dst)) ||
                                              (writes(i) && where(i.dst) == where(recv.dst));
                                     });
      if (next == instructions.end() || next->opcode != Opcode::Reduce || next->step != recv.step ||
          next->dst != recv.dst || !same_place(next->src, recv.dst))
        continue;
      recv.dst = next->src = new_scratch();
    }
  }

  // Inputs that are read when or after their place is written.
  bool save_inputs() {
    std::map<Slot, int> first_write;  // by place: 2 * step, and one more if it is local
    const auto time = [](const Instruction& i) { return 2 * i.step + (is_local(i.opcode) ? 1 : 0); };
    const auto for_each = [this](auto function) {
      for (ThreadBlock& block : program_.blocks)
        for (Instruction& i : block.instructions) function(i);
    };
    for_each([&](const Instruction& i) {
      if (!writes(i) || i.dst.buffer == Buffer::Scratch) return;
      const auto [at, added] = first_write.try_emplace(where(i.dst), time(i));
      if (!added) at->second = std::min(at->second, time(i));
    });
    std::map<Slot, Slot> saved;
    std::vector<Instruction> copies;
    for_each([&](Instruction& i) {
      if (!reads(i) || i.src.buffer != Buffer::Input) return;
      const auto write = first_write.find(where(i.src));
      if (write == first_write.end() || time(i) < write->second) return;
      const auto [at, added] = saved.try_emplace(i.src);
      if (added) {
        at->second = new_scratch();
        copies.push_back(
            {.opcode = Opcode::Copy, .src = i.src, .dst = at->second, .step = -1, .piece = i.piece});
      }
      i.src = at->second;
    });
    if (!copies.empty()) {
      std::vector<Instruction>& list = program_.blocks.front().instructions;
      list.insert(list.begin(), copies.begin(), copies.end());
    }
    return !copies.empty();
  }

  const Collective& collective_;
  const Rank rank_;
  RankProgram& program_;
};

}  // namespace

Program in_place(const Topology& topology, const Collective& collective, const Program& program) {
  Program result = program;
  result.in_place = true;
  bool saves = false;
  for (Rank n = 0; n < static_cast<int>(result.ranks.size()); ++n)
    saves = SharedMemory(collective, n, result.ranks[n]).share() || saves;
  if (saves) {
    ++result.steps;
    for (RankProgram& rank : result.ranks)
      for (ThreadBlock& block : rank.blocks)
        for (Instruction& i : block.instructions) ++i.step;
  }
  result = reuse_scratch(std::move(result));
  if (const auto faults = violations(topology, collective, result, 1); !faults.empty())
    throw std::logic_error("in place, " + program.name + " is wrong: " + faults.front().words);
  return result;
}

}  // namespace chorale
