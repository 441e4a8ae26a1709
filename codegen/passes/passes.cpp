// Linear scan over the intervals of steps in which slots are in use.
//
// Two slots may become one if no step uses both: within a step sends, receives and local work may overlap, so
// a slot is handed on from one step to a later one only. Slots are renamed in the order of their first use to
// the lowest that is free (left-edge algorithm), which is the least number that intervals allow.
#include "codegen/passes/passes.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "ir/promise.h"
#include "semantics/verify_program.h"

namespace chorale {

// The idea: the verifier's symbolic run determines the content of each operation's result, so it finds where
// a sum becomes complete, and the function is attached to that operation.
//
// What lost: putting it into programs of blocks. An instruction that completes a sum and sends it on had to
// be cut open, and the peer form had no function.

namespace {

// Where in the inputs the outputs of each rank begin. The verifier checks that they are contiguous there.
void set_slices(const Collective& collective, Program& program) {
  const Promise promise(collective);
  for (Rank n = 0; n < promise.ranks(); ++n)
    if (const std::vector<Promise::Output> outputs = promise.outputs(n); !outputs.empty())
      program.ranks[n].slice =
          std::max(0, collective.chunks[outputs.front().chunks.front()].input - outputs.front().slot);
}

}  // namespace

// Completions are found before the function is stored: a program without any has no place for one. The
// position goes with the operation, since the function may depend on the index.
std::optional<Fault> apply_epilogue(const Topology& topology, const Collective& collective,
                                    const Epilogue& epilogue, Program& program) {
  const std::vector<Completion> all = completions(topology, collective, program);
  if (all.empty())
    return Fault{.kind = Fault::Kind::Limit,
                 .words = name_of(collective) + " has no sums that an epilogue could follow",
                 .remedy = "use a reduce, reducescatter or allreduce"};
  program.epilogue = epilogue;
  if (has_sliced_operand(epilogue)) set_slices(collective, program);
  for (const Completion& each : all)
    program.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  return std::nullopt;
}

// A stable sort by step and kind: receives may not come before sends, which read what receives overwrite, nor
// local work before what it adds has come.

Program order_epochs(Program program) {
  const auto place = [](const Instruction& i) {
    return std::pair{i.step, is_local(i.does) ? 2 : i.does.takes ? 1 : 0};
  };
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks) std::ranges::stable_sort(block.instructions, {}, place);
  return program;
}

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
