// The program is verified, so what is in a slot is known to be right, and only its identity has to be
// tracked: which block, and whether it is a complete sum. The verifier determines which operation completes a
// sum (`completions`); messages and copies hand it on. The first moment at which a rank has the whole sum is
// one for each chunk and rank, by its being the first: so a function that keeps state with the elements of a
// slice is applied once to each, whatever the algorithm. The operation that completes a sum applies it with
// its last operand in registers; where a complete sum comes by message, it is applied as the message is read.
//
// What a message brings is lent (`borrows`) if all that reads it is sums of the same step, and it is stored
// over, or never read, afterwards.
#include "tensor/lowering/exchange_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "semantics/verify_program.h"

namespace chorale {
namespace {

struct Content {
  int block = 0, piece = 0;
  bool whole = false;  // has each rank contributed?
};
using Where = std::tuple<Rank, int, int>;  // rank, buffer, slot

// With the position of its chunk at each operation that completes a sum, as if a function were applied there.
Program with_completions(const Verified<Program>& verified) {
  Program program = *verified;
  for (const Completion& each : completions(verified.topology(), verified.collective(), program))
    program.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  return program;
}

// A symbolic run of the tables: in each step first the messages, then the work of the ranks. Work is listed
// anew, since the function adds rows and copies that are not read are left out.
class ContentRun {
 public:
  ContentRun(const Collective& collective, const Program& program, bool applies)
      : collective_(collective), applies_(applies), rows_(step_rows(program)) {
    for (const ChunkSpec& chunk : collective.chunks)
      for (const Rank n : chunk.pre)
        slots_[{n, 0, chunk.input}] = {block(chunk), chunk.input % pieces(), collective.ranks == 1};
  }

  ExchangeRows rows() {
    run();
    for (StepMessage& message : rows_.messages) message.borrows = may_borrow(message);
    const bool in_place = stays_in_place();
    return {std::move(rows_), in_place};
  }

 private:
  int pieces() const { return collective_.chunks_per_block; }
  int block(const ChunkSpec& chunk) const {
    return (collective_.kind == CollectiveKind::Allgather ? chunk.output : chunk.input) / pieces();
  }
  bool is_for(const Content& content, Rank n) const {
    return collective_.kind == CollectiveKind::ReduceScatter ? content.block == n : collective_.root == n;
  }
  // A sum that this rank waits for has come to be in a slot; is it the first time?
  bool is_first(const Content& content, Rank n) {
    return applies_ && content.whole && is_for(content, n) &&
           had_.insert({n, content.block, content.piece}).second;
  }
  bool was_had(const Content& content, Rank n) const {
    return applies_ && content.whole && had_.contains({n, content.block, content.piece});
  }

  void run() {
    const std::vector<StepWork> all = std::exchange(rows_.work, {});
    auto message = rows_.messages.begin();
    auto row = all.begin();
    for (int s = 0; s < rows_.steps; ++s) {
      const auto first = message;
      for (; message != rows_.messages.end() && message->step == s; ++message) {
        const Where src{message->from, message->from_buffer, message->from_slot};
        message->block = slots_.at(src).block;
        reads(src);
      }
      arrive(first, message);
      for (; row != all.end() && row->step == s; ++row) work(*row);
    }
  }

  // All messages of a step leave before any of them comes.
  void arrive(std::vector<StepMessage>::const_iterator first, std::vector<StepMessage>::const_iterator last) {
    // A slot may be read by a message and overwritten by another in one step: contents are taken before any
    // is put.
    std::vector<std::pair<Where, Content>> arrived;
    for (auto m = first; m != last; ++m)
      arrived.emplace_back(Where{m->to, m->to_buffer, m->to_slot},
                           slots_.at({m->from, m->from_buffer, m->from_slot}));
    for (const auto& [place, content] : arrived) {
      slots_[place] = content;
      completed_.erase(place);
    }
    for (auto m = first; m != last; ++m) {
      const auto& [place, content] = arrived[m - first];
      if (!is_first(content, m->to)) continue;
      completed_[place] = static_cast<int>(rows_.work.size());
      rows_.work.push_back({m->to, m->step, 0, m->to_buffer, m->to_slot, m->to_buffer, m->to_slot,
                            content.block, m->piece, 1});
    }
  }

  void work(StepWork row) {
    const Where from{row.rank, row.from_buffer, row.from_slot}, to{row.rank, row.to_buffer, row.to_slot};
    Content content = slots_.at(from);
    if (row.add != 0) content.whole = row.completes != 0;
    // The consumer of the sum has had it; another copy would not be read.
    if (row.add == 0 && row.to_buffer == 1 && was_had(content, row.rank)) {
      slots_[to] = content;
      return;
    }
    reads(from);
    if (row.add != 0) reads(to);
    row.block = content.block;
    row.completes = is_first(content, row.rank) ? 1 : 0;
    slots_[to] = content;
    completed_.erase(to);
    if (row.completes != 0) completed_[to] = static_cast<int>(rows_.work.size());
    rows_.work.push_back(row);
  }

  // A sum that was given to the function is read after all: it is stored, too.
  void reads(const Where& place) {
    if (const auto it = completed_.find(place); it != completed_.end()) rows_.work[it->second].completes = 2;
  }

  // What is done with a slot after a message has come into it, in order.
  bool may_borrow(const StepMessage& message) const {
    const int n = message.to, buffer = message.to_buffer, slot = message.to_slot;
    const auto onto = [&](const StepWork& w) { return w.to_buffer == buffer && w.to_slot == slot; };
    const auto from = [&](const StepWork& w) { return w.from_buffer == buffer && w.from_slot == slot; };
    for (const StepWork& w : rows_.work)
      if (w.rank == n && w.step == message.step && onto(w)) return w.completes == 1 || w.add != 0 || !from(w);
    // Then the steps after it: messages leave before others come, and sums are last.
    for (int s = message.step + 1; s < rows_.steps; ++s) {
      for (const StepMessage& m : rows_.messages)
        if (m.step == s && m.from == n && m.from_buffer == buffer && m.from_slot == slot) return false;
      for (const StepMessage& m : rows_.messages)
        if (m.step == s && m.to == n && m.to_buffer == buffer && m.to_slot == slot) return true;
      for (const StepWork& w : rows_.work) {
        if (w.rank != n || w.step != s) continue;
        if (from(w) || (onto(w) && w.add != 0)) return false;
        if (onto(w)) return true;
      }
    }
    return buffer == 2 || applies_;
  }

  // Of Allgather and Broadcast: into an output of what the rank had before, only a copy of that.
  bool stays_in_place() const {
    const bool gathers = collective_.kind == CollectiveKind::Allgather;
    if (!gathers && collective_.kind != CollectiveKind::Broadcast) return false;
    const auto own = [&](Rank n, int slot) { return gathers ? slot / pieces() == n : n == collective_.root; };
    for (const StepMessage& m : rows_.messages)
      if (m.to_buffer == 1 && own(m.to, m.to_slot)) return false;
    return std::ranges::all_of(rows_.work, [&](const StepWork& w) {
      return w.to_buffer != 1 || !own(w.rank, w.to_slot) || (w.add == 0 && w.from_buffer == 0);
    });
  }

  const Collective& collective_;
  const bool applies_;
  StepRows rows_;  // of work: those of steps that have run
  std::map<Where, Content> slots_ = {};
  std::set<std::tuple<Rank, int, int>> had_ = {};  // rank, block, piece
  std::map<Where, int> completed_ = {};            // slots with sums that the function has had: by which work
};

}  // namespace

OrError<ExchangeRows> exchange_rows(const std::string& where, const Verified<Program>& program,
                                    bool applies) {
  const Collective& collective = program.collective();
  const auto refuse = [&](const std::string& problem) {
    return InputError(where,
                      fmt::format("{} cannot be done by this program: {}", name_of(collective), problem),
                      "give it a program that was lowered for it");
  };
  if (program->in_place) return refuse("its input and output are in one memory");
  if (collective.order.kind == SumOrder::Kind::Free)
    return refuse("its ranks may end with different bits; search again without --allow-disagreement");
  if (applies && collective.kind != CollectiveKind::ReduceScatter &&
      collective.kind != CollectiveKind::Reduce)
    return refuse("sums are for one rank in reduce and reducescatter alone");
  return ContentRun(collective, applies ? with_completions(program) : *program, applies).rows();
}

}  // namespace chorale
