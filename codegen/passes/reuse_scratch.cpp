// Linear scan over the intervals of steps in which slots are in use.
//
// Two slots may become one if no step uses both: within a step sends, receives and local work may overlap, so
// a slot is handed on from one step to a later one only. Slots are renamed in the order of their first use to
// the lowest that is free (left-edge algorithm), which is the least number that intervals allow.
#include <algorithm>
#include <climits>
#include <functional>
#include <queue>
#include <utility>

#include "codegen/passes/passes.h"

namespace chorale {
namespace {

struct Interval {
  int first = INT_MAX, last = -1;  // steps
};

template <typename Function>  // void(Slot&, step)
void for_each_scratch(RankProgram& rank, Function function) {
  for (ThreadBlock& block : rank.blocks)
    for (Instruction& i : block.instructions)
      for (std::vector<DataPlace>* places : {&i.does.from, &i.does.to})
        for (DataPlace& place : *places)
          if (place.slot.buffer == Buffer::Scratch) function(place.slot, i.step);
}

void reuse(RankProgram& rank) {
  std::vector<Interval> uses(rank.scratch_chunks);
  for_each_scratch(rank, [&uses](const Slot& slot, int step) {
    uses[slot.index].first = std::min(uses[slot.index].first, step);
    uses[slot.index].last = std::max(uses[slot.index].last, step);
  });
  std::vector<int> order;
  for (int i = 0; i < rank.scratch_chunks; ++i)
    if (uses[i].last >= 0) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&uses](int i) { return uses[i].first; });

  std::vector<int> renamed(rank.scratch_chunks, -1);
  // Slots that are in use, the one that is free first on top; and those that are free, the lowest on top.
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>>
      busy;  // last, slot
  std::priority_queue<int, std::vector<int>, std::greater<>> idle;
  int slots = 0;
  for (int i : order) {
    while (!busy.empty() && busy.top().first < uses[i].first) {
      idle.push(busy.top().second);
      busy.pop();
    }
    if (idle.empty()) idle.push(slots++);
    renamed[i] = idle.top();
    idle.pop();
    busy.push({uses[i].last, renamed[i]});
  }
  for_each_scratch(rank, [&renamed](Slot& slot, int) { slot.index = renamed[slot.index]; });
  rank.scratch_chunks = slots;
}

}  // namespace

Program reuse_scratch(Program program) {
  for (RankProgram& rank : program.ranks) reuse(rank);
  return program;
}

}  // namespace chorale
