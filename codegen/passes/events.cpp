#include "codegen/passes/events.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace chorale {
namespace {

std::vector<Slot> slots_from(const Slot& slot, int count) {
  std::vector<Slot> result;
  for (int k = 0; k < count; ++k) result.push_back({slot.buffer, slot.index + k});
  return result;
}

class Landing {
 public:
  explicit Landing(const RankProgram& rank) {
    for (const ThreadBlock& block : rank.blocks)
      for (const Instruction& i : block.instructions) all_.push_back(&i);
    std::ranges::stable_sort(all_, {}, [](const Instruction* i) {
      return std::pair{i->step, i->opcode == Opcode::Send ? 0 : i->opcode == Opcode::Recv ? 1 : 2};
    });
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (all_[k]->opcode != Opcode::Recv) uses_[all_[k]->src].push_back(static_cast<int>(k));
      if (all_[k]->opcode != Opcode::Send) uses_[all_[k]->dst].push_back(static_cast<int>(k));
    }
  }

  Events events() {
    Events result;
    std::set<int> landed;  // receives that are done by a later local instruction
    std::map<int, int> receive_of;
    for (int k = 0; k < static_cast<int>(all_.size()); ++k)
      if (const int by = taker(k); by >= 0) {
        landed.insert(k);
        receive_of[by] = k;
      }
    for (int k = 0; k < static_cast<int>(all_.size()); ++k) {
      if (landed.contains(k)) continue;
      const Instruction& i = *all_[k];
      Event event{.instruction = {.src = i.src, .dst = i.dst, .piece = i.piece}, .step = i.step};
      const auto receive = receive_of.find(k);
      if (receive != receive_of.end()) {
        const Instruction& message = *all_[receive->second];
        event.peer = message.peer;
        event.message = message.message;
        if (i.opcode == Opcode::Copy) {
          event.instruction.opcode = BlockOpcode::Recv;
          event.instruction.src = {};
        } else {
          event.instruction.opcode = BlockOpcode::RecvReduce;
          // From a mailbox into a value, or onto a first message: what is added to is the other operand.
          event.instruction.src = message.dst == i.src ? i.dst : i.src;
        }
      } else if (is_local(i.opcode)) {
        event.instruction.opcode = i.opcode == Opcode::Copy ? BlockOpcode::Copy : BlockOpcode::Reduce;
      } else {
        event.instruction.opcode = i.opcode == Opcode::Send ? BlockOpcode::Send : BlockOpcode::Recv;
        (i.opcode == Opcode::Send ? event.instruction.dst : event.instruction.src) = {};
        event.peer = i.peer;
        event.message = i.message;
      }
      result.push_back(event);
    }
    return result;
  }

 private:
  // The local instruction that can take the message of receive k as it comes; -1: none.
  int taker(int k) const {
    const Instruction& receive = *all_[k];
    if (receive.opcode != Opcode::Recv) return -1;
    const std::vector<int>& uses = uses_.at(receive.dst);
    const auto here = std::ranges::find(uses, k);
    if (here + 1 == uses.end()) return -1;
    const int by = *(here + 1);
    const Instruction& local = *all_[by];
    if (!is_local(local.opcode) || local.step != receive.step) return -1;
    if (local.src == receive.dst && receive.dst.buffer == Buffer::Scratch && local.dst != local.src) {
      // A mailbox: nobody else may want what lies in it.
      if (here + 2 == uses.end()) return by;
      const Instruction& after = *all_[*(here + 2)];
      return after.opcode == Opcode::Recv ? by : -1;
    }
    if (local.opcode == Opcode::Reduce && local.dst == receive.dst && local.src.buffer == Buffer::Input)
      return by;
    return -1;
  }

  std::vector<const Instruction*> all_ = {};
  std::map<Slot, std::vector<int>> uses_ = {};
};

}  // namespace

Slot next_slot(const Slot& slot, int by) {
  return {slot.buffer, slot.index + by};
}

std::vector<Slot> slots_read(const BlockInstruction& i) {
  std::vector<Slot> result;
  if (reads_src(i.opcode)) result = slots_from(i.src, i.count);
  if (reads_dst(i.opcode))
    for (const Slot& slot : slots_from(i.dst, i.count)) result.push_back(slot);
  return result;
}

std::vector<Slot> slots_written(const BlockInstruction& i) {
  return writes_dst(i.opcode) ? slots_from(i.dst, i.count) : std::vector<Slot>();
}

Events landed(const RankProgram& rank) {
  return Landing(rank).events();
}

std::map<int, Ends> ends_of(const std::vector<Events>& ranks) {
  std::map<int, Ends> result;
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (int e = 0; e < static_cast<int>(ranks[n].size()); ++e) {
      const Event& event = ranks[n][e];
      if (event.gone || event.message < 0) continue;
      Ends& ends = result[event.message];
      if (event.instruction.opcode == BlockOpcode::Send) {
        ends.from = n, ends.send = e;
      } else {
        ends.to = n, ends.recv = e;
      }
    }
  return result;
}

void merge_messages(std::vector<Events>& ranks, int pieces) {
  // Slots that several messages of a step are added to keep them apart.
  std::vector<std::map<std::pair<int, Slot>, int>> arrivals(ranks.size());
  for (std::size_t n = 0; n < ranks.size(); ++n)
    for (const Event& event : ranks[n])
      if (event.instruction.opcode != BlockOpcode::Send)
        for (const Slot& slot : slots_written(event.instruction)) ++arrivals[n][{event.step, slot}];
  std::map<std::tuple<int, Rank, Rank>, std::vector<Ends>> together;
  for (const auto& [message, ends] : ends_of(ranks))
    together[{ranks[ends.from][ends.send].step, ends.from, ends.to}].push_back(ends);
  for (auto& [where, messages] : together) {
    std::ranges::sort(messages, {}, [&](const Ends& m) {
      return std::pair{ranks[m.to][m.recv].instruction.dst, ranks[m.from][m.send].instruction.src};
    });
    const Ends* first = nullptr;
    for (const Ends& m : messages) {
      const BlockInstruction& recv = ranks[m.to][m.recv].instruction;
      const bool alone = arrivals[m.to][{ranks[m.to][m.recv].step, recv.dst}] == 1;
      if (first != nullptr && alone) {
        BlockInstruction& to = ranks[first->to][first->recv].instruction;
        BlockInstruction& from = ranks[first->from][first->send].instruction;
        const BlockInstruction& send = ranks[m.from][m.send].instruction;
        const bool follows = recv.opcode == to.opcode && recv.dst == next_slot(to.dst, to.count) &&
                             send.src == next_slot(from.src, from.count) &&
                             recv.piece == (to.piece + to.count) % pieces &&
                             (!reads_src(recv.opcode) || recv.src == next_slot(to.src, to.count));
        if (follows) {
          ++to.count;
          ++from.count;
          ranks[m.to][m.recv].gone = ranks[m.from][m.send].gone = true;
          continue;
        }
      }
      first = alone ? &m : nullptr;
    }
  }
}

}  // namespace chorale
