// Values are numbers, equal where the expressions are: what was there at the start, what a message brings,
// the sum of two values, the function of one. The steps are done one after the other, sends first, and then
// the plan's tasks in their order; both must send the same and end with the same. Any other order of the
// plan's has the same values if all that touch one memory are ordered: that is looked for among what each
// task waits for, and backwards from there.
#include "semantics/verify_message_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ir/collective_kind.h"
#include "semantics/fault_list.h"

namespace chorale {
namespace {

using TaskKind = MessageTask::Kind;
using Value = int;

class MessagePlanVerifier : FaultList {
 public:
  MessagePlanVerifier(const Program& program, const StepTables& tables, Rank rank, const Pieces& pieces,
                      const MessagePlan& plan, const int* tags, int limit)
      : FaultList(limit),
        program_(program),
        tables_(tables),
        rank_(rank),
        pieces_(pieces),
        plan_(plan),
        tags_(tags) {
    for (int buffer = 0; buffer < 3; ++buffer)
      for (int slot = tables.slots[rank][buffer]; slot-- > 0;)
        if (buffer == 2 || pieces.slot_length(slot) > 0) slot_at_[{buffer, begin_of(buffer, slot)}] = slot;
  }

  std::vector<Fault> run() {
    if (!is_well_formed()) return std::move(found_);
    by_steps();
    by_plan();
    memory_is_ordered();
    messages_are_ordered();
    return std::move(found_);
  }

 private:
  using Place = std::pair<Buffer, int>;  // one for what shares memory
  struct Uses {
    int writer = -1;
    std::vector<int> readers = {};  // since then
  };

  std::int64_t begin_of(int buffer, int slot) const {
    return buffer == 2 ? slot * pieces_.longest() : pieces_.slot_begin(slot);
  }
  Place place(int buffer, int slot) const {
    Slot at{static_cast<Buffer>(buffer), slot};
    if (program_.in_place)
      at = in_place_slot(program_.collective, program_.chunks_per_block, rank_, at,
                         program_.ranks[rank_].input_chunks, program_.ranks[rank_].output_chunks);
    return {at.buffer, at.index};
  }
  Place place(const Span& span) const { return place(span.buffer, slot_at_.at({span.buffer, span.begin})); }
  bool is_slot(const Span& span) const { return slot_at_.contains({span.buffer, span.begin}); }
  int tag(int row) const { return (tags_ == nullptr ? row : tags_[row]) % kTags; }
  static FaultPlace at(int rank, const MessageTask& task, int number) {
    return {.rank = rank, .instruction = number, .step = task.step};
  }
  FaultPlace at(int number) const { return at(rank_, plan_[number], number); }

  // Every message of the rank once, as the table has it; tasks that wait for earlier ones, and touch slots.
  bool is_well_formed() {
    std::vector<int> seen(tables_.message_count);
    for (int t = 0; t < std::ssize(plan_); ++t) {
      const MessageTask& task = plan_[t];
      for (const int before : task.after)
        if (before < 0 || before >= t) {
          report(Kind::Deadlock, at(t), "task {} waits for task {}, which is not before it", t, before);
          return false;
        }
      const bool is_message = task.kind != TaskKind::Sum;
      const std::size_t operands = task.from.size();
      const bool has_operands = task.kind == TaskKind::Receive ? operands == 0
                                : task.kind == TaskKind::Send  ? operands == 1
                                                               : operands > 0;
      if (!has_operands || (is_message && (task.row < 0 || task.row >= tables_.message_count)) ||
          !std::ranges::all_of(task.from, [&](const Span& from) { return is_slot(from); }) ||
          (task.kind != TaskKind::Send && !is_slot(task.to)) || task.step < 0 || task.step >= tables_.steps) {
        report(Kind::Form, at(t), "task {} names a message, a step or a slot that does not exist", t);
        return false;
      }
      if (!is_message) continue;
      const StepMessage& m = tables_.messages[task.row];
      const bool sends = task.kind == TaskKind::Send;
      const int buffer = sends ? m.from_buffer : m.to_buffer, slot = sends ? m.from_slot : m.to_slot;
      const Span& span = task.span();
      if ((sends ? m.from : m.to) != rank_ || (sends ? m.to : m.from) != task.peer || m.step != task.step ||
          span.buffer != buffer || span.begin != begin_of(buffer, slot) ||
          span.count != pieces_.length(m.piece))
        report(Kind::Match, at(t), "task {} is not what rank {} has of message {}", t, rank_, task.row);
      if (seen[task.row]++ > 0) report(Kind::Repeated, at(t), "message {} is there twice", task.row);
    }
    for (int row = 0; row < tables_.message_count; ++row) {
      const StepMessage& m = tables_.messages[row];
      if ((m.from == rank_ || m.to == rank_) && pieces_.length(m.piece) > 0 && seen[row] == 0)
        report(Kind::Absent, {.rank = rank_, .step = m.step}, "message {} of rank {} is missing", row, rank_);
    }
    return found_.empty();
  }

  // The number of a value: by what it is made of.
  Value value(int kind, std::int64_t a, std::int64_t b) {
    return values_.try_emplace({kind, a, b}, static_cast<int>(values_.size())).first->second;
  }
  Value held(std::map<Place, Value>& memory, const Place& where) {
    const auto known = memory.find(where);
    return known != memory.end() ? known->second
                                 : memory[where] = value(0, static_cast<int>(where.first), where.second);
  }
  Value brought(int row) { return value(1, row, 0); }
  Value sum(Value a, Value b) { return value(2, a, b); }
  // As of StepWork::completes.
  Value applied(Value a, int completes, std::int64_t index) { return value(2 + completes, a, index); }

  void by_steps() {
    int message = 0, work = 0;
    for (int s = 0; s < tables_.steps; ++s) {
      const int first = message;
      const auto own = [&](Rank end, int piece) { return end == rank_ && pieces_.length(piece) > 0; };
      for (; message < tables_.message_count && tables_.messages[message].step == s; ++message) {
        const StepMessage& m = tables_.messages[message];
        if (own(m.from, m.piece)) sent_[message] = held(memory_, place(m.from_buffer, m.from_slot));
      }
      for (int row = first; row < message; ++row) {
        const StepMessage& m = tables_.messages[row];
        if (own(m.to, m.piece)) memory_[place(m.to_buffer, m.to_slot)] = brought(row);
      }
      for (; work < tables_.work_count && tables_.work[work].step == s; ++work) {
        const StepWork& w = tables_.work[work];
        if (!own(w.rank, w.piece)) continue;
        const Place to = place(w.to_buffer, w.to_slot);
        Value made = held(memory_, place(w.from_buffer, w.from_slot));
        if (w.add != 0) made = sum(held(memory_, to), made);
        if (w.completes != 0)
          made = applied(made, w.completes, pieces_.slot_begin(w.block * pieces_.pieces + w.piece));
        memory_[to] = made;
      }
    }
  }

  void by_plan() {
    std::map<Place, Value> memory;
    for (int t = 0; t < std::ssize(plan_); ++t) {
      const MessageTask& task = plan_[t];
      if (task.kind == TaskKind::Receive) {
        memory[place(task.to)] = brought(task.row);
      } else if (task.kind == TaskKind::Send) {
        if (held(memory, place(task.from[0])) != sent_[task.row])
          report(Kind::Absent, at(t), "task {} sends another value than step {} does", t, task.step + 1);
      } else {
        Value made = held(memory, place(task.from[0]));
        for (std::size_t k = 1; k < task.from.size(); ++k)
          made = sum(made, held(memory, place(task.from[k])));
        if (task.completes != 0 || task.index >= 0) made = applied(made, task.completes, task.index);
        memory[place(task.to)] = made;
        const std::int64_t length = pieces_.slot_length(slot_at_.at({task.to.buffer, task.to.begin}));
        const auto fits = [&](const Span& span) { return span.count == task.to.count; };
        if (!std::ranges::all_of(task.from, fits) || (task.to.buffer != 2 && task.to.count != length))
          report(Kind::Size, at(t), "task {} adds spans of different lengths", t);
      }
    }
    for (const auto* touched : {&memory_, &memory})
      for (const auto& [where, unused] : *touched)
        if (held(memory, where) != held(memory_, where)) {
          report(Kind::Outcome, {.rank = rank_}, "rank {} ends with another value at {} than by steps", rank_,
                 to_string(Slot{where.first, where.second}));
          return;
        }
  }

  // Does task j, directly or by others, wait for task i?
  bool waits(int j, int i) {
    const std::vector<int>& after = plan_[j].after;
    if (std::ranges::find(after, i) != after.end()) return true;
    visited_.resize(plan_.size(), -1);
    ++search_;
    std::vector<int> open(after);
    while (!open.empty()) {
      const int t = open.back();
      open.pop_back();
      if (t == i) return true;
      if (t < i || visited_[t] == search_) continue;
      visited_[t] = search_;
      open.insert(open.end(), plan_[t].after.begin(), plan_[t].after.end());
    }
    return false;
  }
  void require_order(int i, int j, const char* why) {
    if (i >= 0 && !full() && !waits(j, i))
      report(Kind::Race, at(j), "task {} does not wait for task {}, {}", j, i, why);
  }

  void memory_is_ordered() {
    std::map<Place, Uses> uses;
    for (int t = 0; t < std::ssize(plan_); ++t) {
      const MessageTask& task = plan_[t];
      for (const Span& from : task.from) {
        Uses& of = uses[place(from)];
        require_order(of.writer, t, "which writes what it reads");
        of.readers.push_back(t);
      }
      if (task.kind == TaskKind::Send) continue;
      Uses& of = uses[place(task.to)];
      require_order(of.writer, t, "which writes there as well");
      for (const int reader : of.readers)
        if (reader != t) require_order(reader, t, "which reads what it overwrites");
      of = {t, {}};
    }
  }

  void messages_are_ordered() {
    std::vector<int> latest(plan_.size(), -1);  // row of the messages that a task waits for, its own too
    std::map<std::tuple<TaskKind, Rank, int>, int> last_of_tag;
    std::map<int, std::pair<std::vector<int>, std::vector<int>>>
        lanes;  // sends of a step, and of that before
    for (int t = 0; t < std::ssize(plan_); ++t) {
      const MessageTask& task = plan_[t];
      for (const int before : task.after) latest[t] = std::max(latest[t], latest[before]);
      if (task.kind == TaskKind::Sum) continue;
      if (latest[t] >= task.row)
        report(Kind::Deadlock, at(t), "message {} waits for message {}", task.row, latest[t]);
      latest[t] = std::max(latest[t], task.row);
      const auto [last, is_first] = last_of_tag.insert({{task.kind, task.peer, tag(task.row)}, t});
      if (!is_first) require_order(std::exchange(last->second, t), t, "a message of the same pair and tag");
      if (task.kind == TaskKind::Receive) continue;
      auto& [now, before] = lanes[tables_.messages[task.row].lane];
      if (!now.empty() && plan_[now.back()].step != task.step) before = std::exchange(now, {});
      now.push_back(t);
      for (const int each : before) require_order(each, t, "which is before it on its lane");
    }
  }

  const Program& program_;
  const StepTables& tables_;
  const Rank rank_;
  const Pieces pieces_;
  const MessagePlan& plan_;
  const int* const tags_;
  std::map<std::pair<int, std::int64_t>, int> slot_at_ = {};
  std::map<std::tuple<int, std::int64_t, std::int64_t>, Value> values_ = {};
  std::map<Place, Value> memory_ = {};  // after all steps
  std::map<int, Value> sent_ = {};      // by row
  std::vector<int> visited_ = {};       // by task: the search that was there last
  int search_ = 0;
};

}  // namespace

std::vector<Fault> violations(const Program& program, const StepTables& tables, Rank rank,
                              const Pieces& pieces, const MessagePlan& plan, const int* tags, int limit) {
  return MessagePlanVerifier(program, tables, rank, pieces, plan, tags, limit).run();
}

}  // namespace chorale
