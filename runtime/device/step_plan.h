// What one rank does in each step of an algorithm, for blocks of a given number of elements: the program with
// ranges of elements instead of slots. For transports that move the messages of a step as one group and do
// its sums in one launch (runtime/device/nccl_steps.h).
//
// All that does not depend on addresses is decided here, once for a size, so that a call has nothing left to
// do but to enqueue. Slots of a block of n elements in k pieces begin where its pieces do, so slots are equal
// or do not touch, and a slot of an input in place lies exactly over one of the output: two spans overlap
// only if they begin at one address, and `Place` is enough to compare them.
//
// Two things must hold. Both ends of a message see the same messages in the same order, since NCCL matches
// those of a pair by order alone (by address, whatever their order in the tables); so merging depends only on
// what is the same at both ends, and not at whether a rank's memory is shared. And in place no input is read
// after it was overwritten: messages that would land on one that the step still reads go to a mailbox beside
// it, and `sound` reports whether that was enough for all steps. Where it was not, the caller copies the
// input first.
//
// Plain host code in C++17; it is also copied into emitted programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/pieces.h"
#include "ir/step_table.h"
#include "runtime/device/own_steps.h"

namespace chorale {

struct PeerSpan {
  int peer = 0;
  Span span = {};
};
// One after the other, element by element; spans of one length. An operand is the result itself or does not
// touch it.
using Chain = std::vector<OwnSum>;

struct PlannedStep {
  std::vector<PeerSpan> sends = {}, recvs = {};  // all at once; those of a peer match in this order
  std::vector<Chain> chains = {};                // then these, in any order
};

struct StepPlan {
  std::int64_t input = 0, output = 0, scratch = 0;  // elements that the buffers have
  int ranks = 1;
  bool adds = false;       // does any rank add? Then outputs are sums
  bool once = false;       // are sums rounded once?
  bool applies = false;    // does any rank apply the function? Then all of them have had it
  std::int64_t slice = 0;  // the index of the first element of the output
  bool sound = false;      // in place: nothing of the input is read after the output has overwritten it
  std::vector<PlannedStep> steps = {};
};

// Where the input lies if it shares memory with the output: its element i is element i + shift there.
struct InPlace {
  bool shared = false;
  std::int64_t shift = 0;
};

class StepPlanner {
 public:
  StepPlanner(const StepTables& tables, int rank, std::int64_t elements, InPlace in_place)
      : tables_(tables), rank_(rank), pieces_{elements, tables.pieces}, in_place_(in_place) {}

  StepPlan plan() {
    StepPlan plan;
    plan.ranks = tables_.ranks;
    plan.once = tables_.adds_once;
    plan.input = pieces_.slot_begin(tables_.slots[rank_][0]);
    plan.output = pieces_.slot_begin(tables_.slots[rank_][1]);
    plan.slice = tables_.slices == nullptr ? 0 : pieces_.slot_begin(tables_.slices[rank_]);
    plan.sound = true;
    plan.steps.resize(tables_.steps);
    // Over all ranks: one that only copies still has to divide an average.
    for (const StepWork* w = tables_.work; w != tables_.work + tables_.work_count; ++w) {
      plan.adds = plan.adds || w->add;
      plan.applies = plan.applies || w->completes != 0;
    }
    std::vector<OwnStep> steps = own_steps(tables_, rank_, EvenLengths{pieces_});
    scratch_ = own_scratch_ = pieces_.longest() * tables_.slots[rank_][2];
    plan.scratch = scratch_;
    for (int s = 0; s < tables_.steps; ++s) {
      // Mailboxes of a step may be those of the step before: what is in them has been used.
      scratch_ = own_scratch_;
      finish(steps[s], plan.steps[s], plan.sound);
      plan.scratch = std::max(plan.scratch, scratch_);
    }
    return plan;
  }

 private:
  // Messages that lie one after the other at both ends are one.
  struct Merged {
    int peer = 0;
    Span from = {}, to = {};
    std::vector<Span> parts = {};  // of `to`
  };

  static bool adjoin(const Span& a, const Span& b) {
    return a.buffer == b.buffer && a.begin + a.count == b.begin;
  }

  // Both ends of a pair must get the same here, so nothing in it depends on the end: of two messages 0 -> 1,
  // from slots 4 and 5 into slots 7 and 8, either end makes one. The parts are kept, since the data that a
  // message overwrites are determined slot by slot.
  static std::vector<Merged> merged(std::vector<OwnMessage> messages) {
    const auto where = [](const OwnMessage& m) {
      return std::tuple(m.peer, m.from.buffer, m.from.begin, m.to.buffer, m.to.begin);
    };
    std::sort(messages.begin(), messages.end(),
              [&](const OwnMessage& a, const OwnMessage& b) { return where(a) < where(b); });
    std::vector<Merged> result;
    for (const OwnMessage& m : messages) {
      if (!result.empty() && result.back().peer == m.peer && adjoin(result.back().from, m.from) &&
          adjoin(result.back().to, m.to)) {
        result.back().from.count += m.from.count;
        result.back().to.count += m.to.count;
        result.back().parts.push_back(m.to);
      } else {
        result.push_back({m.peer, m.from, m.to, {m.to}});
      }
    }
    return result;
  }

  // Spans of one memory have one key: with input and output shared, those of the input are the output's.
  using Place = std::pair<int, std::int64_t>;
  Place place(const Span& s) const {
    return in_place_.shared && s.buffer == 0 ? Place{1, s.begin + in_place_.shift} : Place{s.buffer, s.begin};
  }

  // In the order in which memory changes: sends read while receives write, then work is done. An input is
  // lost where the output over it was written, by a receive that lands there or by work; reading it
  // afterwards makes the plan unsound. A copy of an input onto itself loses nothing. What came into a mailbox
  // is copied to where it belongs before all other work, which in the sums that follow becomes their first
  // source: out = mailbox + in, read before out is stored.
  void finish(OwnStep& step, PlannedStep& result, bool& sound) {
    std::set<Place> read;  // of the input, in this step
    for (const OwnMessage& send : step.sends)
      if (send.from.buffer == 0) read.insert(place(send.from)), sound = sound && !is_lost(send.from);
    for (const OwnWork& work : step.work)
      if (work.from.buffer == 0) read.insert(place(work.from));
    for (const Merged& m : merged(step.sends)) result.sends.push_back({m.peer, m.from});
    std::vector<OwnWork> arrived;  // what came into mailboxes
    for (const Merged& m : merged(step.receives)) {
      const bool wanted = in_place_.shared && m.to.buffer == 1 &&
                          std::any_of(m.parts.begin(), m.parts.end(),
                                      [&](const Span& part) { return read.count(place(part)) > 0; });
      if (!wanted) {
        result.recvs.push_back({m.peer, m.to});
        for (const Span& part : m.parts) lose(part);
        continue;
      }
      // The input is still needed where this would land.
      for (const Span& part : m.parts)
        arrived.push_back({false, {2, scratch_ + part.begin - m.to.begin, part.count}, part, 0, -1});
      result.recvs.push_back({m.peer, {2, scratch_, m.to.count}});
      scratch_ += m.to.count;
    }
    step.work.insert(step.work.begin(), arrived.begin(), arrived.end());
    const std::vector<OwnSum> sums =
        fused_sums(step.work, [&](const Span& a, const Span& b) { return place(a) == place(b); });
    for (const OwnSum& sum : sums) {
      const bool stays = sum.from.size() == 1 && place(sum.from[0]) == place(sum.to);
      for (const Span& source : sum.from) sound = sound && !(source.buffer == 0 && is_lost(source));
      if (!stays) lose(sum.to);
    }
    result.chains = joined(chains_of(sums));
  }

  bool is_lost(const Span& input) const { return in_place_.shared && lost_.count(place(input)) > 0; }
  void lose(const Span& written) {
    if (written.buffer == 1) lost_.insert(place(written));
  }

  bool touches(const std::vector<Span>& spans, const Span& span) const {
    return std::any_of(spans.begin(), spans.end(), [&](const Span& s) { return place(s) == place(span); });
  }

  // Sums that depend on each other, by a slot that one of them writes, are in one chain, in their order:
  // chains have no order among themselves. In a chain element e of a sum depends on elements e of the others
  // alone, since a slot has one length in a step (scratch is handed on in later steps only), so a thread can
  // do its elements without any barrier. head[j] is the first sum of j's chain; joining two rewrites the
  // heads. At worst cubic in the sums of a step, and done once for a size.
  std::vector<Chain> chains_of(const std::vector<OwnSum>& sums) const {
    std::vector<std::size_t> head(sums.size());
    for (std::size_t j = 0; j < sums.size(); ++j) {
      head[j] = j;
      for (std::size_t i = 0; i < j; ++i) {
        if (place(sums[i].to) != place(sums[j].to) && !touches(sums[j].from, sums[i].to) &&
            !touches(sums[i].from, sums[j].to))
          continue;
        const std::size_t a = std::min(head[i], head[j]), b = std::max(head[i], head[j]);
        std::replace(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(j) + 1, b, a);
      }
    }
    std::vector<Chain> chains;
    for (std::size_t h = 0; h < sums.size(); ++h) {
      Chain chain;
      for (std::size_t i = h; i < sums.size(); ++i)
        if (head[i] == h) chain.push_back(sums[i]);
      if (!chain.empty()) chains.push_back(std::move(chain));
    }
    return chains;
  }

  // Chains of one sum each that lie one after the other in all their spans are one: adding 16 consecutive
  // chunks to as many is one sum over one long span. With a function the indices must follow, too.
  static std::vector<Chain> joined(std::vector<Chain> chains) {
    std::vector<Chain> result;
    for (Chain& chain : chains) {
      if (!result.empty() && follows(result.back(), chain)) {
        OwnSum& before = result.back()[0];
        before.to.count += chain[0].to.count;
        for (Span& source : before.from) source.count += chain[0].to.count;
      } else {
        result.push_back(std::move(chain));
      }
    }
    return result;
  }

  static bool follows(const Chain& a, const Chain& b) {
    if (a.size() != 1 || b.size() != 1 || a[0].from.size() != b[0].from.size()) return false;
    if (!adjoin(a[0].to, b[0].to)) return false;
    if (a[0].index < 0 ? b[0].index >= 0 : b[0].index != a[0].index + a[0].to.count) return false;
    for (std::size_t i = 0; i < a[0].from.size(); ++i)
      if (!adjoin(a[0].from[i], b[0].from[i])) return false;
    return true;
  }

  const StepTables& tables_;
  const int rank_;
  const Pieces pieces_;
  const InPlace in_place_;
  // Elements of scratch: the program's own slots, and after them the mailboxes of the step that is being
  // planned.
  std::int64_t scratch_ = 0, own_scratch_ = 0;
  std::set<Place> lost_ = {};  // locations of the input that the output has overwritten
};

inline StepPlan make_step_plan(const StepTables& tables, int rank, std::int64_t elements,
                               InPlace in_place = {}) {
  return StepPlanner(tables, rank, elements, in_place).plan();
}

}  // namespace chorale
