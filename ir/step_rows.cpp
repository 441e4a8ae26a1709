// A row moves one slot to one slot, or adds it there. So an operation is a copy of its first operand to its
// first result, additions of the other operands to that, and copies from there to the other results: the sum
// grows at its destination, without an intermediate slot.
#include "ir/step_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/agreement.h"

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

// By epoch, then by distance (ir/program.h); stable, so equal distances stay by number.
std::vector<MessageEnds> in_posting_order(const Program& program) {
  std::vector<MessageEnds> messages = messages_of(program);
  std::ranges::stable_sort(messages, {}, [&](const MessageEnds& m) {
    return std::pair(m.step, posting_distance(m.from, m.to, static_cast<int>(program.ranks.size())));
  });
  return messages;
}
// Example: s0 + i1 to s0 and o2 is "add i1 to s0, copy s0 to o2". An operation of several chunks is done
// chunk by chunk. Rows are sorted by epoch; within one the order of the rank's blocks and instructions stays.
std::vector<StepWork> work_rows(const Program& program) {
  std::vector<StepWork> rows;
  for_each_instruction(program, [&](Rank n, int, int, const Instruction& i) {
    if (!is_local(i.does)) return;
    const DataOperation op = home_first(i.does);
    for (int k = 0; k < op.count; ++k) {
      const auto row = [&](const DataPlace& from, const DataPlace& to, bool add, bool completes) {
        const Slot src = next_slot(from.slot, k), dst = next_slot(to.slot, k);
        rows.push_back({n, i.step, add, static_cast<int>(src.buffer), src.index, static_cast<int>(dst.buffer),
                        dst.index, completes ? (op.position + k) / program.chunks_per_block : 0,
                        (op.piece + k) % program.chunks_per_block, completes ? 3 : 0});
      };
      const int last = static_cast<int>(op.from.size()) - 1;
      // What lies at home need not be copied there, unless nothing else is done: a function on a slot is a
      // copy of the slot to itself. The function is applied with the last operand, when the sum is complete,
      // so that the other results are copies of what it has made.
      for (int f = op.to[0] == op.from[0] && last > 0 ? 1 : 0; f <= last; ++f)
        row(op.from[f], op.to[0], f > 0, applies(op) && f == last);
      for (std::size_t t = 1; t < op.to.size(); ++t) row(op.to[0], op.to[t], false, false);
    }
  });
  std::ranges::stable_sort(rows, {}, &StepWork::step);
  return rows;
}

// By ends of a link. Each limit makes one lane of what it has of a rank's.
std::map<std::pair<Rank, Rank>, int> lanes_of(const Topology& topology) {
  std::map<std::pair<Rank, Rank>, int> lanes;
  for (const Link& link : topology.links) lanes[{link.src, link.dst}] = link.dst;
  const auto join = [&](Rank src, int lane, int with) {
    for (auto at = lanes.lower_bound({src, 0}); at != lanes.end() && at->first.first == src; ++at)
      if (at->second == with) at->second = lane;
  };
  for (const SharedLimit& limit : topology.limits) {
    std::map<Rank, Rank> first;  // by source: where one of its links goes
    for (const LinkId l : limit.links) {
      const auto [src, dst] = std::pair(topology.links[l].src, topology.links[l].dst);
      const Rank other = first.try_emplace(src, dst).first->second;
      if (lanes[{src, other}] != lanes[{src, dst}]) join(src, lanes[{src, other}], lanes[{src, dst}]);
    }
  }
  return lanes;
}

}  // namespace

StepRows step_rows(const Program& program, const Topology& topology) {
  const CollectiveKind kind = row_of(program.collective).result;
  StepRows rows{.steps = program.steps,
                .pieces = program.chunks_per_block,
                .own_input = kind == CollectiveKind::Allgather,
                .own_output = kind == CollectiveKind::ReduceScatter,
                .work = work_rows(program)};
  const std::map<std::pair<Rank, Rank>, int> lanes = lanes_of(topology);
  for (const MessageEnds& m : in_posting_order(program)) {
    const auto lane = lanes.find({m.from, m.to});
    rows.messages.push_back({m.step, m.from, static_cast<int>(m.src.buffer), m.src.index, m.to,
                             static_cast<int>(m.dst.buffer), m.dst.index, 0, m.piece, 0,
                             lane == lanes.end() ? 0 : lane->second});
    rows.numbers.push_back(m.number);
  }
  for (const RankProgram& rank : program.ranks) {
    rows.slots.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks});
    rows.slices.push_back(rank.slice);
  }
  return rows;
}

StepRows step_rows(const Verified<Program>& program) {
  StepRows rows = step_rows(*program, program.topology());
  rows.adds_once = adds_once(program.collective());
  return rows;
}

// Pointers into the vectors: a plain struct for code that is compiled as C++17.
StepTables StepRows::tables() const {
  return {static_cast<int>(slots.size()),
          steps,
          pieces,
          slots.data(),
          messages.data(),
          static_cast<int>(messages.size()),
          work.data(),
          static_cast<int>(work.size()),
          slices.data(),
          own_input,
          own_output,
          adds_once};
}

}  // namespace chorale
