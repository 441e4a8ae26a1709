// A row moves one slot to one slot, or adds it there. So an operation is a copy of its first operand to its
// first result, additions of the other operands to that, and copies from there to the other results: the sum
// grows at its destination, without an intermediate slot.
#include "ir/step_rows.h"

#include <algorithm>
#include <utility>

namespace chorale {
namespace {

// Sums are made where one of the operands lies, if that is a result too: with that operand first, and that
// result. The copy would destroy it otherwise before it is added: of s0 + s1 to s1 the rows are "add s0 to
// s1", not "copy s0 to s1, add s1 to s1". Sums do not depend on the order of their operands.
DataOperation home_first(DataOperation op) {
  for (DataPlace& from : op.from)
    if (const auto home = std::ranges::find(op.to, from); home != op.to.end()) {
      std::swap(*home, op.to.front());
      std::swap(from, op.from.front());
      break;
    }
  return op;
}

}  // namespace

std::vector<StepRow> step_rows(const Program& program) {
  std::vector<StepRow> rows;
  for_each_instruction(program, [&](Rank n, int, int, const Instruction& i) {
    if (!is_local(i.does)) return;
    const DataOperation op = home_first(i.does);
    for (int k = 0; k < op.count; ++k) {
      const auto row = [&](const DataPlace& from, const DataPlace& to, bool add, int position) {
        const Slot src = next_slot(from.slot, k), dst = next_slot(to.slot, k);
        rows.push_back({n, i.step, add, static_cast<int>(src.buffer), src.index, static_cast<int>(dst.buffer),
                        dst.index, (op.piece + k) % program.chunks_per_block, position});
      };
      const int last = static_cast<int>(op.from.size()) - 1;
      // What lies at home need not be copied there, unless nothing else is done: a function on a slot is a
      // copy of the slot to itself. The function is applied with the last operand, when the sum is complete,
      // so that the other results are copies of what it has made.
      for (int f = op.to[0] == op.from[0] && last > 0 ? 1 : 0; f <= last; ++f)
        row(op.from[f], op.to[0], f > 0, applies(op) && f == last ? op.position + k : -1);
      for (std::size_t t = 1; t < op.to.size(); ++t) row(op.to[0], op.to[t], false, -1);
    }
  });
  return rows;
}

}  // namespace chorale
