// Three passes over each rank, each of which leaves less to the next: sums are made where the input lies
// already, copies of data already in position are dropped, and only inputs that are still read after being
// overwritten are saved before everything else. Time is counted in units of half a step, messages before what
// is local, as epochs have it (ir/program.h).
#include <algorithm>
#include <map>
#include <utility>

#include "codegen/passes/passes.h"

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
  // The slot that stands for the memory, of the one or two that lie there.
  Slot where(const Slot& slot) const {
    return in_place_slot(collective_.kind, collective_.chunks_per_block, rank_, slot);
  }
  bool same_place(const Slot& a, const Slot& b) const { return a != b && where(a) == where(b); }
  bool copies_onto_itself(const Instruction& i) const {
    const DataOperation& op = i.does;
    return is_local(op) && !adds(op) && !applies(op) && std::ranges::all_of(op.to, [&](const DataPlace& to) {
             return same_place(op.from[0].slot, to.slot);
           });
  }
  bool touches(const std::vector<DataPlace>& places, const Slot& memory) const {
    return std::ranges::any_of(places, [&](const DataPlace& place) { return where(place.slot) == memory; });
  }
  Slot new_scratch() { return {Buffer::Scratch, program_.scratch_chunks++}; }

  // For a sum of the input and another operand that is stored over the input: the same slot is read and
  // written.
  void add_in_place(DataOperation& op) const {
    if (!is_local(op) || op.from.size() != 2) return;
    const Slot& to = op.to[0].slot;
    if (same_place(op.from[1].slot, to)) std::swap(op.from[0], op.from[1]);
    if (same_place(op.from[0].slot, to)) op.from[0].slot = to;
  }

  // A receive into the slot that the input at that address is added to next: the message is added to the
  // input instead.
  void add_to_input(std::vector<Instruction>& instructions) {
    std::map<Slot, bool> written;  // by slot
    for (std::size_t k = 0; k < instructions.size(); ++k) {
      Instruction& recv = instructions[k];
      bool first = true;
      for (const DataPlace& to : recv.does.to) first = !std::exchange(written[where(to.slot)], true);
      if (first) add_in_place(recv.does);
      if (!first || !recv.does.takes || recv.does.to[0].slot.buffer == Buffer::Scratch) continue;
      Slot& landing = recv.does.to[0].slot;
      const auto next =
          std::find_if(instructions.begin() + static_cast<std::ptrdiff_t>(k) + 1, instructions.end(),
                       [&](const Instruction& i) {
                         return touches(i.does.from, where(landing)) || touches(i.does.to, where(landing));
                       });
      if (next == instructions.end() || !is_local(next->does) || next->does.from.size() != 2 ||
          next->step != recv.step || next->does.to[0].slot != landing ||
          !same_place(next->does.from[1].slot, landing))
        continue;
      landing = next->does.from[1].slot = new_scratch();
    }
  }

  // Inputs that are read when or after they are overwritten.
  // An input is read too late if it is read at the time of the first write over it or after: messages of a
  // step leave while others come in, so the same time is too late. It is copied once, in step -1, and every
  // late reader takes the copy.
  bool save_inputs() {
    std::map<Slot, int> first_write;  // by slot: 2 * step, and one more if it is local
    const auto time = [](const Instruction& i) { return 2 * i.step + (is_local(i.does) ? 1 : 0); };
    const auto for_each = [this](auto function) {
      for (ThreadBlock& block : program_.blocks)
        for (Instruction& i : block.instructions) function(i);
    };
    for_each([&](const Instruction& i) {
      for (const DataPlace& to : i.does.to) {
        if (to.slot.buffer == Buffer::Scratch) continue;
        const auto [at, added] = first_write.try_emplace(where(to.slot), time(i));
        if (!added) at->second = std::min(at->second, time(i));
      }
    });
    std::map<Slot, Slot> saved;
    std::vector<Instruction> copies;
    for_each([&](Instruction& i) {
      for (DataPlace& from : i.does.from) {
        if (from.slot.buffer != Buffer::Input) continue;
        const auto write = first_write.find(where(from.slot));
        if (write == first_write.end() || time(i) < write->second) continue;
        const auto [at, added] = saved.try_emplace(from.slot);
        if (added) {
          at->second = new_scratch();
          copies.push_back({.does = copying(from.slot, at->second, i.does.piece), .step = -1});
        }
        from.slot = at->second;
      }
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

Program in_place(const Collective& collective, Program program) {
  program.in_place = true;
  bool saves = false;
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    saves = SharedMemory(collective, n, program.ranks[n]).share() || saves;
  // Saving happens in a step of its own before the first, so all steps move by one.
  if (saves) {
    ++program.steps;
    for_each_instruction(program, [](Rank, int, int, Instruction& i) { ++i.step; });
  }
  return program;
}

}  // namespace chorale
