// Sends of a step read what was before it, so in the list they come first, then what arrives, then what is
// local. A receive is taken by a local operation of its step, and is not an event of its own, if no other
// operation can read the slot that it lands in: the next use of that slot is the operation, and the one after
// it, if any, another receive.
//
// Messages of one step and one pair of ranks are merged where they follow each other at both ends, but not
// into slots at which several messages of the step arrive.
#include "codegen/passes/events.h"

#include <algorithm>
#include <tuple>

namespace chorale {
namespace {

// uses_: by slot, the places in the list at which it is read or written, each once, ascending.
class Landing {
 public:
  explicit Landing(const RankProgram& rank) {
    for (const ThreadBlock& block : rank.blocks)
      for (const Instruction& i : block.instructions) all_.push_back(&i);
    std::ranges::stable_sort(all_, {}, [](const Instruction* i) {
      return std::pair{i->step, i->does.sends ? 0 : i->does.takes ? 1 : 2};
    });
    for (int k = 0; k < static_cast<int>(all_.size()); ++k)
      for (const std::vector<DataPlace>* places : {&all_[k]->does.from, &all_[k]->does.to})
        for (const DataPlace& place : *places)
          if (std::vector<int>& uses = uses_[place.slot]; uses.empty() || uses.back() != k) uses.push_back(k);
  }

  // Two passes: takers come after the receives that they take, so both are known before any event is made.
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
      Event event{.does = i.does, .step = i.step, .peer = i.peer, .message = i.message};
      if (const auto receive = receive_of.find(k); receive != receive_of.end()) {
        const Instruction& message = *all_[receive->second];
        event.peer = message.peer;
        event.message = message.message;
        event.does.takes = true;
        // What it brings was one of the operands.
        std::erase(event.does.from, message.does.to[0]);
      }
      result.push_back(event);
    }
    return result;
  }

 private:
  // The local instruction that can take the message of receive k as it comes; -1: none.
  int taker(int k) const {
    const Instruction& receive = *all_[k];
    if (!receive.does.takes) return -1;
    const Slot& landing = receive.does.to[0].slot;
    const std::vector<int>& uses = uses_.at(landing);
    const auto here = std::ranges::find(uses, k);
    if (here + 1 == uses.end()) return -1;
    const int by = *(here + 1);
    const Instruction& local = *all_[by];
    const std::vector<DataPlace>& from = local.does.from;
    // Of more than two operands the order is part of the sum, and a message would come first.
    if (!is_local(local.does) || local.step != receive.step || from.size() > 2 ||
        std::ranges::count(from, DataPlace{landing}) != 1)
      return -1;
    const bool stays = std::ranges::find(local.does.to, DataPlace{landing}) != local.does.to.end();
    if (landing.buffer == Buffer::Scratch && !stays) {
      // A mailbox: no other operation may read it.
      if (here + 2 == uses.end()) return by;
      const Instruction& after = *all_[*(here + 2)];
      return after.does.takes ? by : -1;
    }
    // A first message, to which the input is added where it landed.
    const bool adds_input = from.size() == 2 && from[1].slot.buffer == Buffer::Input;
    return stays && adds_input ? by : -1;
  }

  std::vector<const Instruction*> all_ = {};
  std::map<Slot, std::vector<int>> uses_ = {};
};

}  // namespace

std::vector<Slot> slots_of(const std::vector<DataPlace>& places, int count) {
  std::vector<Slot> result;
  for (const DataPlace& place : places)
    for (int k = 0; k < count; ++k) result.push_back(next_slot(place.slot, k));
  return result;
}

Events completed(const RankProgram& rank) {
  return Landing(rank).events();
}

// Both ends are known when all ranks have been visited: a message has one of each.
std::map<int, Ends> ends_of(const std::vector<Events>& ranks) {
  std::map<int, Ends> result;
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (int e = 0; e < static_cast<int>(ranks[n].size()); ++e) {
      const Event& event = ranks[n][e];
      if (event.gone || event.message < 0) continue;
      Ends& ends = result[event.message];
      if (event.does.sends) {
        ends.from = n, ends.send = e;
      } else {
        ends.to = n, ends.recv = e, ends.count = event.does.count;
      }
    }
  return result;
}

namespace {

bool follows(const std::vector<DataPlace>& next, const std::vector<DataPlace>& first, int count) {
  return std::ranges::equal(
      next, first, [count](const DataPlace& n, const DataPlace& f) { return n == next_place(f, count); });
}

// Does an operation go on where another one ends?
bool follows(const DataOperation& next, const DataOperation& first, int pieces) {
  const int position = applies(first) ? first.position + first.count : -1;
  return next.takes == first.takes && next.sends == first.sends && next.position == position &&
         next.piece == (first.piece + first.count) % pieces && follows(next.from, first.from, first.count) &&
         follows(next.to, first.to, first.count);
}

}  // namespace

// Of the messages between two ranks in a step, in the order in which they land, each joins the one before it
// if operands and results follow each other at both ends: then it is one message of more chunks.
void merge_messages(std::vector<Events>& ranks, int pieces, const std::set<int>& apart) {
  // Slots that several messages of a step are added to keep them apart.
  std::vector<std::map<std::pair<int, Slot>, int>> arrivals(ranks.size());
  for (std::size_t n = 0; n < ranks.size(); ++n)
    for (const Event& event : ranks[n])
      if (!event.does.sends)
        for (const Slot& slot : slots_of(event.does.to, event.does.count)) ++arrivals[n][{event.step, slot}];
  std::map<std::tuple<int, Rank, Rank>, std::vector<Ends>> together;
  for (const auto& [message, ends] : ends_of(ranks))
    if (!apart.contains(message))
      together[{ranks[ends.from][ends.send].step, ends.from, ends.to}].push_back(ends);
  for (auto& [where, messages] : together) {
    std::ranges::sort(messages, {}, [&](const Ends& m) {
      return std::pair{ranks[m.to][m.recv].does.to[0], ranks[m.from][m.send].does.from[0]};
    });
    const Ends* first = nullptr;
    for (const Ends& m : messages) {
      const DataOperation& recv = ranks[m.to][m.recv].does;
      const bool alone = arrivals[m.to][{ranks[m.to][m.recv].step, recv.to[0].slot}] == 1;
      if (first != nullptr && alone) {
        DataOperation& to = ranks[first->to][first->recv].does;
        DataOperation& from = ranks[first->from][first->send].does;
        if (follows(recv, to, pieces) && follows(ranks[m.from][m.send].does, from, pieces)) {
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
