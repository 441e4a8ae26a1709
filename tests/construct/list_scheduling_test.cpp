// Random jobs on random machines put into steps, judged by the definitions: each pair that must follow one
// another, and the sends over each link and limit in each step.
#include "construct/engine/list_scheduling.h"

#include <gtest/gtest.h>

#include <climits>
#include <random>

namespace chorale {
namespace {

struct Wait {
  int job = 0, other = 0;
  bool later = true;
};

Topology small_machine(std::mt19937& random) {
  Topology t{.ranks = 2 + static_cast<int>(random() % 5)};
  for (Rank a = 0; a < t.ranks; ++a)
    for (Rank b = 0; b < t.ranks; ++b)
      if (a != b && random() % 3 > 0)
        t.links.push_back({.src = a, .dst = b, .bandwidth = 1 + static_cast<int>(random() % 3)});
  if (t.links.empty()) t.links.push_back({.src = 0, .dst = 1});
  SharedLimit limit{.bandwidth = 1 + static_cast<int>(random() % 4)};
  for (LinkId l = 0; l < std::ssize(t.links); ++l)
    if (random() % 2 == 0) limit.links.push_back(l);
  if (!limit.links.empty()) t.limits.push_back(limit);
  return t;
}

// Rounds of each step by the machine alone.
std::vector<int> rounds_needed(const Topology& t, const std::vector<std::vector<LinkId>>& jobs, int copies,
                               const StepAssignment& plan) {
  std::vector<int> rounds(plan.rounds.size(), 0);
  for (int s = 0; s < std::ssize(rounds); ++s) {
    std::vector<int> sends(t.links.size(), 0);
    for (int i = 0; i < copies * std::ssize(jobs); ++i)
      if (plan.step_of[i] == s)
        for (const LinkId l : jobs[i % jobs.size()]) ++sends[l];
    const auto need = [&](int count, int bandwidth) {
      rounds[s] = std::max(rounds[s], (count + bandwidth - 1) / bandwidth);
    };
    for (LinkId l = 0; l < std::ssize(t.links); ++l) need(sends[l], t.links[l].bandwidth);
    for (const SharedLimit& limit : t.limits) {
      int count = 0;
      for (const LinkId l : limit.links) count += sends[l];
      need(count, limit.bandwidth);
    }
  }
  return rounds;
}

TEST(ListScheduling, KeepsOrdersAndCapacities) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Topology t = small_machine(random);
    const Network network(t);
    SendGraph graph(network);
    std::vector<std::vector<LinkId>> jobs;
    std::vector<Wait> waits;
    for (int j = 0; j < 1 + static_cast<int>(random() % 30); ++j) {
      jobs.emplace_back();
      for (int k = 0; k < (random() % 5 == 0 ? 3 : 1); ++k)
        jobs.back().push_back(static_cast<LinkId>(random() % t.links.size()));
      ASSERT_EQ(graph.add(jobs.back()), j);
      for (int k = 0; j > 0 && k < static_cast<int>(random() % 3); ++k) {
        waits.push_back({.job = j, .other = static_cast<int>(random() % j), .later = random() % 2 == 0});
        graph.wait(j, waits.back().other, waits.back().later);
      }
    }
    graph.finish();
    const int copies = 1 + static_cast<int>(random() % 3), width = 1 + static_cast<int>(random() % 4);
    WorkBudget effort(LLONG_MAX, nullptr);
    ListScheduling scheduling(graph, effort);
    for (scheduling.begin(copies, [&](int, int j) { return -graph.height(j); }); !scheduling.is_done();) {
      scheduling.fill(width);
      ASSERT_TRUE(scheduling.end_step());
    }
    const StepAssignment& plan = scheduling.plan();
    for (int copy = 0; copy < copies; ++copy)
      for (const Wait& wait : waits) {
        const auto step = [&](int j) { return plan.step_of[copy * graph.count() + j]; };
        ASSERT_GE(step(wait.job), step(wait.other) + (wait.later ? 1 : 0));
      }
    ASSERT_EQ(plan.rounds, rounds_needed(t, jobs, copies, plan));
    // Wider than that are only jobs that need it by themselves: alone in the step, or with what is in it for
    // nothing.
    for (int s = 0; s < std::ssize(plan.rounds); ++s)
      if (plan.rounds[s] > width) {
        std::size_t most = 0;
        for (int i = 0; i < copies * graph.count(); ++i)
          if (plan.step_of[i] == s) most = std::max(most, jobs[i % jobs.size()].size());
        ASSERT_GT(most, 1u);
      }
  }
}

// Three equal jobs on a link of one chunk per round: the least key first, none above the last that may go,
// and none where all wait for each other.
TEST(ListScheduling, TheLeastKeyFirst) {
  const Topology pair{.ranks = 2, .links = {{.src = 0, .dst = 1}}};
  const Network network(pair);
  SendGraph graph(network);
  for (int j = 0; j < 3; ++j) graph.add(0);
  graph.finish();
  EXPECT_EQ(in_even_steps(
                graph, [](int, int j) { return -j; }, 1)
                ->step_of,
            (std::vector<int>{2, 1, 0}));
  WorkBudget effort(LLONG_MAX, nullptr);
  ListScheduling scheduling(graph, effort);
  scheduling.begin(1, [](int, int j) { return j; });
  scheduling.fill(3, 1);
  EXPECT_EQ(scheduling.rounds(), 2);
  EXPECT_TRUE(scheduling.end_step());
  EXPECT_FALSE(scheduling.is_done());
  SendGraph circle(network);
  circle.add(0);
  circle.add(0);
  circle.wait(0, 1, false);
  circle.wait(1, 0);
  circle.finish();
  EXPECT_FALSE(in_even_steps(
      circle, [](int, int) { return 0; }, 1));
}

}  // namespace
}  // namespace chorale
