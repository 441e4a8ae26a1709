// From steps to messages: a rank starts a message as soon as its data are there, and not when all messages of
// the step before have come. What waits for what follows from memory: a read waits for the write before it, a
// write for that and for all reads since. So sums are those of the steps, to the bit.
//
// Sends of one lane (ir/step_table.h) are in the order of their steps, each step after the one before has
// left: two messages that share a port delay each other. A send has left when the system has taken it. One
// that takes longer than an acknowledgement has left when it has arrived, if nothing that is still to come
// holds back the next one of its lane (runtime/exchange/arrival.h).
//
// A transport that waits for all its messages at once gets them step by step (MessageOrder::Steps). Ranks
// that share memory have no ports, and so no lanes.
//
// Every wait is for a message of an earlier row of the table, or for local work of an earlier step: a program
// that is right receives into no slot that is sent in the same step (semantics/verify_program.h). So no ranks
// wait for each other in a circle. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/message_plan.h"
#include "runtime/device/own_steps.h"
#include "runtime/exchange/arrival.h"

namespace chorale {

// Number of receives posted at a time: each wait tests all of them.
constexpr int kPostedReceives = 64;

class MessagePlanner {
 public:
  using AddressOf = std::function<const void*(const Span&)>;

  // Spans of one address share memory. tags: by row of the table; null: the rows themselves.
  MessagePlanner(const StepTables& tables, std::vector<OwnStep> steps, std::int64_t element_bytes,
                 AddressOf address, const int* tags, MessageOrder order = MessageOrder::Lanes)
      : tables_(tables),
        steps_(std::move(steps)),
        longest_taken_((kArrives - 1) / element_bytes),
        address_(std::move(address)),
        tags_(tags),
        order_(order) {}
  MessagePlanner(const StepTables& tables, int rank, Pieces pieces, int element_bytes, AddressOf address,
                 const int* tags)
      : MessagePlanner(tables, own_steps(tables, rank, EvenLengths{pieces}), element_bytes,
                       std::move(address), tags) {}

  MessagePlan plan() {
    for (int s = 0; s < tables_.steps; ++s) {
      const std::vector<OwnSum> sums = fused_sums(steps_[s].work);
      end_all(s);
      for (const OwnMessage& m : steps_[s].sends) send(s, m, sums);
      for (const OwnMessage& m : steps_[s].receives) receive(s, m);
      end_all(s);
      for (const OwnSum& sum : sums)
        plan_[add({MessageTask::Kind::Sum, s, -1, -1, sum.from, sum.to, sum.index})].completes =
            sum.completes;
    }
    return std::move(plan_);
  }

 private:
  struct Uses {
    int writer = -1;
    std::vector<int> readers = {};  // since then
  };
  struct Lane {
    int step = -1;
    std::vector<int> now = {}, before = {};  // sends of that step, and of the last one before it
  };

  // Returns the task's number, after adding what it waits for because of memory.
  int add(MessageTask task) {
    const int number = static_cast<int>(plan_.size());
    if (all_ended_ >= 0) task.after.push_back(all_ended_);
    for (Span& from : task.from) {
      Uses& uses = uses_[address_(from)];
      if (uses.writer >= 0) {
        const MessageTask& writer = plan_[uses.writer];
        task.after.push_back(uses.writer);
        if (writer.kind == MessageTask::Kind::Receive && writer.step == task.step) from.receive = uses.writer;
      }
      uses.readers.push_back(number);
    }
    if (task.kind != MessageTask::Kind::Send) {
      Uses& uses = uses_[address_(task.to)];
      if (uses.writer >= 0) task.after.push_back(uses.writer);
      for (const int reader : uses.readers)
        if (reader != number) task.after.push_back(reader);
      uses = {number, {}};
    }
    int needed = task.kind == MessageTask::Kind::Receive ? task.step : -1;
    for (const int before : task.after) needed = std::max(needed, needed_[before]);
    needed_.push_back(needed);
    plan_.push_back(std::move(task));
    return number;
  }

  // A sum of nothing, which all before it end before, and all behind it wait for.
  void end_all(int step) {
    const int number = static_cast<int>(plan_.size());
    if (order_ != MessageOrder::Steps || number == all_ended_ + 1) return;
    MessageTask task{MessageTask::Kind::Sum, step};
    for (int before = all_ended_ + 1; before < number; ++before) task.after.push_back(before);
    needed_.push_back(-1);
    plan_.push_back(std::move(task));
    all_ended_ = number;
  }

  void send(int step, const OwnMessage& m, const std::vector<OwnSum>& sums) {
    const int number = add({MessageTask::Kind::Send, step, m.peer, m.row, {m.from}});
    plan_[number].stays = std::none_of(sums.begin(), sums.end(), [&](const OwnSum& sum) {
      return sum.completes != 1 && sum.to.same_slot(m.from);
    });
    if (order_ == MessageOrder::Lanes) follow_lane(step, number, lanes_[tables_.messages[m.row].lane]);
    keep_order(number);
  }
  void follow_lane(int step, int number, Lane& lane) {
    if (lane.step != step) lane = {step, {}, std::move(lane.now)};
    lane.now.push_back(number);
    for (const int before : lane.before) {
      MessageTask& other = plan_[before];
      plan_[number].after.push_back(before);
      if (needed_[number] < other.step && other.span().count > longest_taken_) other.arrives = true;
    }
  }

  void receive(int step, const OwnMessage& m) {
    const int number = add({MessageTask::Kind::Receive, step, m.peer, m.row, {}, m.to});
    plan_[number].borrows = m.borrows;
    if (receives_.size() >= kPostedReceives)
      plan_[number].after.push_back(receives_[receives_.size() - kPostedReceives]);
    receives_.push_back(number);
    keep_order(number);
  }

  // Both ends match messages of one tag by their order.
  void keep_order(int number) {
    MessageTask& task = plan_[number];
    const int tag = (tags_ == nullptr ? task.row : tags_[task.row]) % kTags;
    const auto [at, is_first] = last_of_tag_.insert({{task.kind, task.peer, tag}, number});
    if (!is_first) task.after.push_back(std::exchange(at->second, number));
  }

  const StepTables& tables_;
  const std::vector<OwnStep> steps_;
  const std::int64_t longest_taken_;  // elements that are not worth an acknowledgement
  const AddressOf address_;
  const int* const tags_;
  const MessageOrder order_;
  int all_ended_ = -1;  // the last task that all before it end before
  MessagePlan plan_ = {};
  std::vector<int> needed_ = {};  // by task: the latest step whose messages it waits for; -1: none
  std::map<const void*, Uses> uses_ = {};
  std::map<int, Lane> lanes_ = {};
  std::vector<int> receives_ = {};
  std::map<std::tuple<MessageTask::Kind, int, int>, int> last_of_tag_ = {};
};

// Runs a plan, again and again. Of what can start, receives come first, then sends, then sums; each in the
// order of the plan.
class MessageDriver {
 public:
  explicit MessageDriver(const MessagePlan& plan) : next_(plan.size()) {
    for (std::size_t t = 0; t < plan.size(); ++t) {
      urgency_.push_back(static_cast<int>(plan[t].kind));
      waits_.push_back(static_cast<int>(plan[t].after.size()));
      for (const int before : plan[t].after) next_[before].push_back(static_cast<int>(t));
    }
  }

  // start(task): whether it has ended already. ended(): waits until any that was started has, and returns
  // those that have.
  template <typename Start, typename Ended>  // bool(int), std::vector<int>()
  void run(Start start, Ended ended) {
    left_ = waits_;
    for (std::size_t t = 0; t < left_.size(); ++t)
      if (left_[t] == 0) ready(static_cast<int>(t));
    for (std::size_t running = 0;;) {
      while (!ready_.empty()) {
        const int task = ready_.top().second;
        ready_.pop();
        if (start(task))
          release(task);
        else
          ++running;
      }
      if (running == 0) return;
      const std::vector<int> over = ended();
      running -= over.size();
      for (const int task : over) release(task);
    }
  }

 private:
  using Ready = std::pair<int, int>;  // urgency, task

  void ready(int task) { ready_.push({urgency_[task], task}); }
  void release(int task) {
    for (const int next : next_[task])
      if (--left_[next] == 0) ready(next);
  }

  std::vector<int> urgency_ = {}, waits_ = {}, left_ = {};
  std::vector<std::vector<int>> next_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>> ready_ = {};
};

}  // namespace chorale
