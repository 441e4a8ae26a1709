// The program is verified, so what is in a slot is known to be right, and only its identity has to be
// tracked: which block, and whether it is a complete sum. The verifier determines which operation completes a
// sum (`completions`); messages and copies hand it on. The first moment at which a rank has the whole sum is
// one for each chunk and rank, by its being the first: so a function that keeps state with the elements of a
// slice is applied once to each, whatever the algorithm. The operation that completes a sum applies it with
// its last operand in registers; where a complete sum comes by message, it is applied as the message is read.
//
// What a message brings is lent (`borrows`) if all that reads it is sums of the same step, and it is stored
// over, or never read, afterwards.
#include "codegen/workload/exchange_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/error.h"
#include "ir/posting_order.h"
#include "ir/step_rows.h"
#include "semantics/verify_program.h"

namespace chorale {
namespace {

struct Content {
  int block = 0, piece = 0;
  bool whole = false;  // has each rank contributed?
};
using Where = std::tuple<Rank, int, int>;  // rank, buffer, slot

struct Message {
  MessageEnds ends = {};
  int block = 0;
  bool borrows = false;
};
struct Work {
  StepRow row = {};
  int block = 0;
  int completes = 0;
};

// With the position of its chunk at each operation that completes a sum, as if a function were applied there.
Program with_completions(const Verified<Program>& verified) {
  Program program = *verified;
  for (const Completion& each : completions(verified.topology(), verified.collective(), program))
    program.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  return program;
}

class ContentRun {
 public:
  ContentRun(const Collective& collective, const Program& program, bool applies)
      : collective_(collective), program_(program), applies_(applies) {
    for (const ChunkSpec& chunk : collective.chunks)
      for (const Rank n : chunk.pre)
        slots_[{n, 0, chunk.input}] = {block(chunk), chunk.input % pieces(), collective.ranks == 1};
  }

  ExchangeRows rows() {
    run();
    for (Message& message : messages_) message.borrows = may_borrow(message);
    ExchangeRows result;
    for (const Message& m : messages_)
      result.messages.push_back({m.ends.step, m.ends.from, m.ends.to, static_cast<int>(m.ends.src.buffer),
                                 m.ends.src.index, static_cast<int>(m.ends.dst.buffer), m.ends.dst.index,
                                 m.block, m.ends.piece, m.borrows});
    for (const Work& w : work_)
      result.work.push_back({w.row.rank, w.row.step, w.row.add, w.row.from_buffer, w.row.from_slot,
                             w.row.to_buffer, w.row.to_slot, w.block, w.row.piece, w.completes});
    for (const RankProgram& rank : program_.ranks) result.scratch.push_back(rank.scratch_chunks);
    result.in_place = stays_in_place();
    return result;
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
    std::vector<MessageEnds> all = messages_of(program_);
    std::ranges::stable_sort(all, {}, [&](const MessageEnds& m) {
      return std::pair(m.step, posting_distance(m.from, m.to, collective_.ranks));
    });
    std::vector<StepRow> rows = step_rows(program_);
    std::ranges::stable_sort(rows, {}, &StepRow::step);
    auto message = all.begin();
    auto row = rows.begin();
    for (int s = 0; s < program_.steps; ++s) {
      std::vector<std::pair<Where, Content>> arrive;
      std::vector<StepRow> applied;
      for (; message != all.end() && message->step == s; ++message) {
        const Where src{message->from, static_cast<int>(message->src.buffer), message->src.index};
        const Where dst{message->to, static_cast<int>(message->dst.buffer), message->dst.index};
        const Content content = slots_.at(src);
        reads(src);
        messages_.push_back({*message, content.block});
        arrive.emplace_back(dst, content);
        if (is_first(content, message->to))
          applied.push_back({.rank = message->to,
                             .step = s,
                             .from_buffer = static_cast<int>(message->dst.buffer),
                             .from_slot = message->dst.index,
                             .to_buffer = static_cast<int>(message->dst.buffer),
                             .to_slot = message->dst.index,
                             .piece = message->piece});
      }
      for (const auto& [place, content] : arrive) {
        slots_[place] = content;
        completed_.erase(place);
      }
      for (const StepRow& each : applied) {
        const Where place{each.rank, each.to_buffer, each.to_slot};
        completed_[place] = static_cast<int>(work_.size());
        work_.push_back({each, slots_[place].block, 1});
      }
      for (; row != rows.end() && row->step == s; ++row) work(*row);
    }
  }

  void work(const StepRow& row) {
    const Where from{row.rank, row.from_buffer, row.from_slot}, to{row.rank, row.to_buffer, row.to_slot};
    Content content = slots_.at(from);
    if (row.add != 0) content.whole = row.position >= 0;
    // The consumer of the sum has had it; another copy would not be read.
    if (row.add == 0 && row.to_buffer == 1 && was_had(content, row.rank)) {
      slots_[to] = content;
      return;
    }
    reads(from);
    if (row.add != 0) reads(to);
    const int completes = is_first(content, row.rank) ? 1 : 0;
    slots_[to] = content;
    completed_.erase(to);
    if (completes != 0) completed_[to] = static_cast<int>(work_.size());
    work_.push_back({row, content.block, completes});
  }

  // A sum that was given to the function is read after all: it is stored, too.
  void reads(const Where& place) {
    if (const auto it = completed_.find(place); it != completed_.end()) work_[it->second].completes = 2;
  }

  // What is done with a slot after a message has come into it, in order.
  bool may_borrow(const Message& message) const {
    const MessageEnds& ends = message.ends;
    const int buffer = static_cast<int>(ends.dst.buffer), slot = ends.dst.index;
    for (const Work& w : work_) {
      if (w.row.rank != ends.to || w.row.step != ends.step) continue;
      const bool onto = w.row.to_buffer == buffer && w.row.to_slot == slot;
      if (onto && w.completes != 1)
        return w.row.add != 0 || w.row.from_buffer != buffer || w.row.from_slot != slot;
      if (onto && w.completes == 1) return true;
    }
    // Then the steps after it: messages leave before others come, and sums are last.
    for (int s = ends.step + 1; s < program_.steps; ++s) {
      for (const Message& m : messages_)
        if (m.ends.step == s && m.ends.from == ends.to && m.ends.src == ends.dst) return false;
      for (const Message& m : messages_)
        if (m.ends.step == s && m.ends.to == ends.to && m.ends.dst == ends.dst) return true;
      for (const Work& w : work_) {
        if (w.row.rank != ends.to || w.row.step != s) continue;
        const bool onto = w.row.to_buffer == buffer && w.row.to_slot == slot;
        if ((w.row.from_buffer == buffer && w.row.from_slot == slot) || (onto && w.row.add != 0))
          return false;
        if (onto) return true;
      }
    }
    return ends.dst.buffer == Buffer::Scratch || applies_;
  }

  // Of Allgather and Broadcast: into an output of what the rank had before, only a copy of that.
  bool stays_in_place() const {
    const bool gathers = collective_.kind == CollectiveKind::Allgather;
    if (!gathers && collective_.kind != CollectiveKind::Broadcast) return false;
    const auto own = [&](Rank n, int slot) { return gathers ? slot / pieces() == n : n == collective_.root; };
    for (const Message& m : messages_)
      if (m.ends.dst.buffer == Buffer::Output && own(m.ends.to, m.ends.dst.index)) return false;
    return std::ranges::all_of(work_, [&](const Work& w) {
      return w.row.to_buffer != 1 || !own(w.row.rank, w.row.to_slot) ||
             (w.row.add == 0 && w.row.from_buffer == 0);
    });
  }

  const Collective& collective_;
  const Program& program_;
  const bool applies_;
  std::map<Where, Content> slots_ = {};
  std::set<std::tuple<Rank, int, int>> had_ = {};  // rank, block, piece
  std::map<Where, int> completed_ = {};            // slots with sums that the function has had: by which work
  std::vector<Message> messages_ = {};
  std::vector<Work> work_ = {};
};

}  // namespace

ExchangeRows exchange_rows(const std::string& where, const Verified<Program>& program, bool applies) {
  const Collective& collective = program.collective();
  const auto refuse = [&](const std::string& problem) {
    throw InputError(where,
                     fmt::format("{} cannot be done by this program: {}", name_of(collective), problem),
                     "give it a program that was lowered for it");
  };
  if (program->in_place) refuse("its input and output are in one memory");
  if (collective.order.kind == SumOrder::Kind::Free)
    refuse("its ranks may end with different bits; search again without --allow-disagreement");
  if (applies && collective.kind != CollectiveKind::ReduceScatter &&
      collective.kind != CollectiveKind::Reduce)
    refuse("sums are for one rank in reduce and reducescatter alone");
  return ContentRun(collective, applies ? with_completions(program) : *program, applies).rows();
}

}  // namespace chorale
