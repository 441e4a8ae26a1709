// What one rank does in each step of a program (ir/step_table.h): rows as ranges of elements. All that runs
// steps plans from this: exchanges (tensor/exchange/exchange.h), the executor over any transport
// (runtime/rank_plan.h), groups of NCCL (runtime/device/step_plan.h), emitted programs over MPI.
//
// C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/message_plan.h"
#include "ir/pieces.h"
#include "ir/step_table.h"

namespace chorale {

struct OwnMessage {
  int peer = 0, row = 0;  // of the table of messages
  Span from = {}, to = {};
  bool borrows = false;
};
struct OwnWork {
  bool add = false;
  Span from = {}, to = {};
  int completes = 0;        // as of StepWork
  std::int64_t index = -1;  // for the function, where it completes a sum
};
// to = the first operand (+) the second (+) ...
struct OwnSum {
  Span to = {};
  std::vector<Span> from = {};
  int completes = 0;
  std::int64_t index = -1;
};
struct OwnStep {
  std::vector<OwnMessage> sends = {}, receives = {};  // in posting order
  std::vector<OwnWork> work = {};                     // one after the other
};

// Of blocks of one length. An index is that of an element in the inputs.
struct EvenLengths {
  Pieces pieces;

  Span span(int, int buffer, int slot, int, int piece) const {
    return {buffer, buffer == 2 ? slot * pieces.longest() : pieces.slot_begin(slot), pieces.length(piece)};
  }
  std::int64_t index(int block, int piece) const { return pieces.slot_begin(block * pieces.pieces + piece); }
};

// By step. Pieces without elements are left out, at both ends alike. A rank outside the tables does nothing.
template <typename Lengths>  // span(rank, buffer, slot, block, piece), index(block, piece)
std::vector<OwnStep> own_steps(const StepTables& tables, int rank, const Lengths& lengths) {
  std::vector<OwnStep> steps(static_cast<std::size_t>(tables.steps));
  for (int i = 0; i < tables.message_count; ++i) {
    const StepMessage& m = tables.messages[i];
    if (m.from != rank && m.to != rank) continue;
    const Span from = lengths.span(m.from, m.from_buffer, m.from_slot, m.block, m.piece),
               to = lengths.span(m.to, m.to_buffer, m.to_slot, m.block, m.piece);
    if (to.count == 0) continue;
    if (m.from == rank) steps[m.step].sends.push_back({m.to, i, from, to, m.borrows != 0});
    if (m.to == rank) steps[m.step].receives.push_back({m.from, i, from, to, m.borrows != 0});
  }
  for (int i = 0; i < tables.work_count; ++i) {
    const StepWork& w = tables.work[i];
    if (w.rank != rank) continue;
    const Span to = lengths.span(rank, w.to_buffer, w.to_slot, w.block, w.piece);
    if (to.count > 0)
      steps[w.step].work.push_back({w.add != 0,
                                    lengths.span(rank, w.from_buffer, w.from_slot, w.block, w.piece), to,
                                    w.completes, w.completes == 0 ? -1 : lengths.index(w.block, w.piece)});
  }
  return steps;
}

// Consecutive additions to a slot as one sum, which reads each operand once and stores once, unless an
// operation between them reads it or changes the addend. An addition is moved up to the last sum of its slot;
// from the latest back, a sum in between forbids that if it writes what is added or reads the slot, and so
// does a function that had that sum. So after a += b, c = a the addition a += d stays where it is, and begins
// a sum of its own with a as its first operand. `same`: whether two spans share memory.
template <typename Same>
std::vector<OwnSum> fused_sums(const std::vector<OwnWork>& all, const Same& same) {
  std::vector<OwnSum> sums;
  for (const OwnWork& work : all) {
    auto open = sums.rend();
    if (work.add)
      for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum) {
        if (same(sum->to, work.to)) {
          // A slot added to itself has its new value; the input that lies there has the old one.
          if (sum->completes == 0 && !work.from.same_slot(work.to)) open = sum;
          break;
        }
        const auto is_target = [&](const Span& span) { return same(span, work.to); };
        if (same(sum->to, work.from) || std::any_of(sum->from.begin(), sum->from.end(), is_target)) break;
      }
    if (open == sums.rend()) {
      sums.push_back({work.to, {}, 0, -1});
      if (work.add) sums.back().from.push_back(work.to);
      open = sums.rbegin();
    }
    open->from.push_back(work.from);
    open->completes = work.completes;
    open->index = work.index;
  }
  return sums;
}
inline std::vector<OwnSum> fused_sums(const std::vector<OwnWork>& all) {
  return fused_sums(all, [](const Span& a, const Span& b) { return a.same_slot(b); });
}

}  // namespace chorale
