// What each message and sum of a rank waits for, against what follows from memory pair by pair; and all ranks
// together, where a message ends only when both of its ends have begun.
#include "runtime/exchange/message_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "construct/baselines/classic.h"
#include "ir/step_rows.h"
#include "semantics/verify_message_plan.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using Kind = MessageTask::Kind;

// Of one element per piece, so a slot is an element.
MessagePlan plan_of(const Program& program, const StepTables& tables, Rank n, const int* tags = nullptr) {
  const auto address = [&](const Span& span) {
    Slot slot{static_cast<Buffer>(span.buffer), static_cast<int>(span.begin)};
    if (program.in_place) slot = in_place_slot(program.collective, program.chunks_per_block, n, slot);
    return reinterpret_cast<const void*>(1 + (static_cast<std::uintptr_t>(slot.buffer) << 20) + slot.index);
  };
  return MessagePlanner(tables, n, {program.chunks_per_block, program.chunks_per_block}, 4, address, tags)
      .plan();
}

Topology ring_with_port(int ranks) {
  Topology ring = test::ring(ranks);
  std::vector<LinkId> out;
  for (LinkId l = 0; l < std::ssize(ring.links); ++l)
    if (ring.links[l].src == 0) out.push_back(l);
  ring.limits.push_back({.name = "out of 0", .links = out, .bandwidth = 2});
  return ring;
}

// Copies, sums and both, in steps that nobody would choose.
std::vector<Program> random_programs(const Topology& t, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Program> programs;
  const auto add = [&](const Collective& c, const Schedule& schedule) {
    programs.push_back(lower(t, c, schedule));
    programs.push_back(in_place(t, c, programs.back()));
  };
  for (const char* name : {"broadcast", "allgather", "alltoall"}) {
    const Collective c = make_collective(name, t.ranks, 2);
    add(c, test::random_copies(t, c, random));
  }
  const Collective sums = make_collective("reducescatter", t.ranks, 2);
  add(sums, test::random_sums(t, sums, random));
  add(make_collective("allreduce", t.ranks, 2 * t.ranks), test::random_allreduce(t, 2, random));
  return programs;
}

bool share_memory(const Program& program, Rank n, const Span& a, const Span& b) {
  const auto slot = [&](const Span& span) {
    const Slot own{static_cast<Buffer>(span.buffer), static_cast<int>(span.begin)};
    return program.in_place ? in_place_slot(program.collective, program.chunks_per_block, n, own) : own;
  };
  return slot(a) == slot(b);
}

// One reads or writes what the other one writes.
bool conflict(const Program& program, Rank n, const MessageTask& a, const MessageTask& b) {
  const auto touches = [&](const MessageTask& task, const Span& written) {
    return (task.kind != Kind::Send && share_memory(program, n, task.to, written)) ||
           std::ranges::any_of(task.from,
                               [&](const Span& from) { return share_memory(program, n, from, written); });
  };
  return (a.kind != Kind::Send && touches(b, a.to)) || (b.kind != Kind::Send && touches(a, b.to));
}

TEST(MessagePlan, TasksWaitForMemoryAndTheirLaneAndNothingElse) {
  int lanes = 0, tasks = 0;
  const Topology t = ring_with_port(5);
  for (unsigned seed = 1; seed <= 3; ++seed)
    for (const Program& program : random_programs(t, seed)) {
      const StepRows rows = step_rows(program, t);
      for (Rank n = 0; n < t.ranks; ++n) {
        const MessagePlan plan = plan_of(program, rows.tables(), n);
        std::vector<std::vector<char>> before(plan.size(), std::vector<char>(plan.size()));
        const auto one_lane = [&](const MessageTask& a, const MessageTask& b) {
          return a.kind == Kind::Send && b.kind == Kind::Send && a.step < b.step &&
                 rows.messages[a.row].lane == rows.messages[b.row].lane;
        };
        for (std::size_t j = 0; j < plan.size(); ++j) {
          for (const int i : plan[j].after) {
            ASSERT_LT(i, static_cast<int>(j));
            ASSERT_TRUE(conflict(program, n, plan[i], plan[j]) || one_lane(plan[i], plan[j]))
                << "seed " << seed << ", rank " << n << ": " << j << " waits for " << i;
            before[j][i] = 1;
            for (int k = 0; k < i; ++k) before[j][k] |= before[i][k];
          }
          for (std::size_t i = 0; i < j; ++i) {
            lanes += one_lane(plan[i], plan[j]);
            if (conflict(program, n, plan[i], plan[j]) || one_lane(plan[i], plan[j])) {
              ASSERT_TRUE(before[j][i])
                  << "seed " << seed << ", rank " << n << ": " << j << " does not wait for " << i;
            }
          }
        }
        tasks += static_cast<int>(plan.size());
      }
    }
  EXPECT_GT(lanes, 100);
  EXPECT_GT(tasks, 1000);
}

// A change of a plan: does it change one? Some changes leave a plan right, as an order that others imply.
struct PlanFault {
  const char* name;
  std::function<bool(MessagePlan&, std::mt19937&)> make;
};

// Is what the plan orders, after the task no longer waits for that one, the same?
bool is_implied(const MessagePlan& plan, int task, int before) {
  std::vector<int> open;
  for (const int each : plan[task].after)
    if (each != before) open.push_back(each);
  while (!open.empty()) {
    const int t = open.back();
    open.pop_back();
    if (t == before) return true;
    open.insert(open.end(), plan[t].after.begin(), plan[t].after.end());
  }
  return false;
}

std::vector<PlanFault> plan_faults() {
  const auto any = [](const MessagePlan& plan, std::mt19937& random, auto suits) {
    std::vector<int> tasks;
    for (int t = 0; t < std::ssize(plan); ++t)
      if (suits(plan[t])) tasks.push_back(t);
    return tasks.empty() ? -1 : tasks[random() % tasks.size()];
  };
  const auto is = [](Kind kind) { return [kind](const MessageTask& task) { return task.kind == kind; }; };
  const auto is_message = [](const MessageTask& task) { return task.kind != Kind::Sum; };
  const auto changed = [=](auto suits, auto change) {
    return [=](MessagePlan& plan, std::mt19937& random) {
      const int t = any(plan, random, suits);
      if (t >= 0) change(plan[t]);
      return t >= 0;
    };
  };
  return {
      {"waits for one less",
       [=](MessagePlan& plan, std::mt19937& random) {
         const int t = any(plan, random, [](const MessageTask& task) { return !task.after.empty(); });
         if (t < 0) return false;
         const int before = plan[t].after[random() % plan[t].after.size()];
         if (is_implied(plan, t, before)) return false;
         std::erase(plan[t].after, before);
         return true;
       }},
      {"waits for a later message",
       [=](MessagePlan& plan, std::mt19937& random) {
         const int t = any(plan, random, is_message);
         for (int other = t + 1; t >= 0 && other < std::ssize(plan); ++other)
           if (plan[other].row > plan[t].row) {
             std::swap(plan[t], plan[other]);
             plan[other].after = {t};
             return true;
           }
         return false;
       }},
      {"waits for itself", [](MessagePlan& plan, std::mt19937&) { return plan[0].after = {0}, true; }},
      {"a message is missing",
       changed(is_message, [](MessageTask& task) { task = {.from = {task.span()}, .to = task.span()}; })},
      {"a message is there twice",
       [=](MessagePlan& plan, std::mt19937& random) {
         const int t = any(plan, random, is_message);
         if (t >= 0) plan.push_back(plan[t]), plan.back().after = {t};
         return t >= 0;
       }},
      {"another peer", changed(is_message, [](MessageTask& task) { ++task.peer; })},
      {"another length",
       changed(is_message,
               [](MessageTask& task) { ++(task.kind == Kind::Send ? task.from[0] : task.to).count; })},
      {"another step", changed(is_message, [](MessageTask& task) { task.step ^= 1; })},
      {"operands in another order",
       [=](MessagePlan& plan, std::mt19937& random) {
         const int t = any(plan, random, [](const MessageTask& task) { return task.from.size() > 1; });
         if (t >= 0) std::swap(plan[t].from[0], plan[t].from[1]);
         return t >= 0;
       }},
      {"an operand less", changed([](const MessageTask& task) { return task.from.size() > 1; },
                                  [](MessageTask& task) { task.from.pop_back(); })},
      {"an operand twice",
       changed(is(Kind::Sum), [](MessageTask& task) { task.from.push_back(task.from[0]); })},
      {"the function on what it does not follow",
       changed(is(Kind::Sum), [](MessageTask& task) { task.index = 0; })},
      {"another place of a sum",
       [=](MessagePlan& plan, std::mt19937& random) {
         const int t = any(plan, random, is(Kind::Sum)), other = any(plan, random, is(Kind::Sum));
         if (t < 0 || plan[t].to.same_slot(plan[other].to)) return false;
         plan[t].to = plan[other].to;
         return true;
       }},
  };
}

// Plans are right for tags of their own and for one tag, and no single fault is overlooked.
TEST(MessagePlan, AVerifierFindsEveryFault) {
  const Topology t = ring_with_port(5);
  std::mt19937 random(7);
  std::map<std::string, int> made;
  for (unsigned seed = 1; seed <= 3; ++seed)
    for (const Program& program : random_programs(t, seed)) {
      const StepRows rows = step_rows(program, t);
      const Pieces pieces{program.chunks_per_block, program.chunks_per_block};
      const std::vector<int> alike(rows.messages.size(), 1);
      for (Rank n = 0; n < t.ranks; ++n)
        for (const int* const tags : {static_cast<const int*>(nullptr), alike.data()}) {
          const MessagePlan plan = plan_of(program, rows.tables(), n, tags);
          const auto faults = [&](const MessagePlan& of) {
            return violations(program, rows.tables(), n, pieces, of, tags, 1);
          };
          const std::vector<Fault> none = faults(plan);
          ASSERT_TRUE(none.empty()) << program.name << ", rank " << n << ": " << none.front();
          for (const PlanFault& fault : plan_faults()) {
            MessagePlan wrong = plan;
            if (plan.empty() || !fault.make(wrong, random)) continue;
            ++made[fault.name];
            ASSERT_FALSE(faults(wrong).empty()) << program.name << ", rank " << n << ": " << fault.name;
          }
        }
    }
  EXPECT_EQ(made.size(), plan_faults().size());
  for (const auto& [name, times] : made) EXPECT_GT(times, 20) << name;
}

struct Together {
  int left = 0;         // tasks that could not be done
  int mismatched = 0;   // messages whose ends are of two rows
  int most_posted = 0;  // receives of a rank at a time
};
// All ranks, each as far as it gets: a message ends when both ends have begun.
Together run_together(const Program& program, const StepRows& rows, const std::vector<int>& tags) {
  const int ranks = static_cast<int>(program.ranks.size());
  struct End {
    Rank rank;
    int task, row;
  };
  Together result;
  std::vector<MessagePlan> plans;
  std::vector<std::vector<int>> waits(ranks);
  std::vector<std::vector<std::vector<int>>> next(ranks);
  std::vector<int> posted(ranks);
  std::deque<std::pair<Rank, int>> ready;
  std::map<std::tuple<Rank, Rank, int>, std::pair<std::deque<End>, std::deque<End>>> ends;
  for (Rank n = 0; n < ranks; ++n) {
    plans.push_back(plan_of(program, rows.tables(), n, tags.data()));
    next[n].resize(plans[n].size());
    for (int t = 0; t < std::ssize(plans[n]); ++t) {
      waits[n].push_back(static_cast<int>(plans[n][t].after.size()));
      for (const int before : plans[n][t].after) next[n][before].push_back(t);
      if (waits[n][t] == 0) ready.emplace_back(n, t);
      ++result.left;
    }
  }
  const auto end = [&](Rank n, int t) {
    --result.left;
    if (plans[n][t].kind == Kind::Receive) --posted[n];
    for (const int each : next[n][t])
      if (--waits[n][each] == 0) ready.emplace_back(n, each);
  };
  while (!ready.empty()) {
    const auto [n, t] = ready.front();
    ready.pop_front();
    const MessageTask& task = plans[n][t];
    if (task.kind == Kind::Sum) {
      end(n, t);
      continue;
    }
    const bool sends = task.kind == Kind::Send;
    if (!sends) result.most_posted = std::max(result.most_posted, ++posted[n]);
    auto& [of_sends, of_receives] =
        ends[{sends ? n : task.peer, sends ? task.peer : n, tags[task.row] % kTags}];
    (sends ? of_sends : of_receives).push_back({n, t, task.row});
    if (of_sends.empty() || of_receives.empty()) continue;
    const End from = of_sends.front(), to = of_receives.front();
    of_sends.pop_front();
    of_receives.pop_front();
    result.mismatched += from.row != to.row;
    end(from.rank, from.task);
    end(to.rank, to.task);
  }
  return result;
}

// With tags of their own, and where messages of a pair share one.
TEST(MessagePlan, RanksComeToTheirEnd) {
  const Topology t = ring_with_port(5);
  for (unsigned seed = 1; seed <= 3; ++seed)
    for (const Program& program : random_programs(t, seed)) {
      const StepRows rows = step_rows(program, t);
      for (const int alike : {kTags, 1}) {
        std::vector<int> tags;
        for (std::size_t row = 0; row < rows.messages.size(); ++row)
          tags.push_back(static_cast<int>(row) % alike + kTags);
        const Together all = run_together(program, rows, tags);
        EXPECT_EQ(all.left, 0) << "seed " << seed << ", " << program.name;
        EXPECT_EQ(all.mismatched, 0) << "seed " << seed << ", " << program.name;
      }
    }
}

TEST(MessagePlan, FewReceivesArePostedAtATime) {
  const Topology t = test::full(4);
  const Point point =
      classic_algorithm("direct_alltoall", t, {.chunks = 40});  // 120 for each rank, in a step
  const Program program = lower(t, point.collective, point.schedule);
  const StepRows rows = step_rows(program, t);
  const Together all = run_together(program, rows, rows.numbers);
  EXPECT_EQ(all.left, 0);
  EXPECT_EQ(all.most_posted, kPostedReceives);
}

// Links that a limit shares are one lane, also over several limits; another link of the rank is not.
TEST(MessagePlan, ALaneIsAPort) {
  Topology t = test::full(5);
  const auto link = [&](Rank dst) {
    return static_cast<LinkId>(
        std::ranges::find_if(t.links, [&](const Link& l) { return l.src == 0 && l.dst == dst; }) -
        t.links.begin());
  };
  t.limits = {{.name = "a", .links = {link(1), link(2)}}, {.name = "b", .links = {link(2), link(3)}}};
  const Point point = classic_algorithm("direct_alltoall", t, {});
  std::map<Rank, int> lanes;
  for (const StepMessage& m : step_rows(lower(t, point.collective, point.schedule), t).messages)
    if (m.from == 0) lanes[m.to] = m.lane;
  EXPECT_EQ(lanes[1], lanes[2]);
  EXPECT_EQ(lanes[2], lanes[3]);
  EXPECT_NE(lanes[3], lanes[4]);
}

// The second send of rank 0 needs nothing that is still to come, so the first has left when it has arrived,
// if it is long enough.
TEST(MessagePlan, WhatNothingHoldsBackWaitsForItsArrival) {
  const std::array<int, 3> slots[] = {{1, 2, 0}, {1, 2, 0}};
  const StepMessage messages[] = {{0, 0, 0, 0, 1, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 1, 1, 1, 0, 0, 0}};
  const StepTables tables{2, 2, 1, slots, messages, 2};
  const auto address = [](const Span& span) {
    return reinterpret_cast<const void*>(1 + span.begin + (std::uintptr_t{1} << 30) * span.buffer);
  };
  const auto arrives = [&](std::int64_t elements) {
    return MessagePlanner(tables, 0, {elements, 1}, 4, address, nullptr).plan().at(0).arrives;
  };
  EXPECT_TRUE(arrives(1 << 12));
  EXPECT_FALSE(arrives((1 << 12) - 1));
}

}  // namespace
}  // namespace chorale
