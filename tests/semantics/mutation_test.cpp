// Good schedules, changed at random in one place. A slow verifier that shares only the types with the
// verifier states of every mutant whether it is still right; the verifier must agree in both directions. So a
// mutant that is not caught is harmless, shown by the verifier, and one that is caught is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "semantics/verify.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using Sum = std::map<Rank, long>;  // contribution (0 for a copy) -> how often; none: nothing
using Held = std::map<std::pair<Chunk, Rank>, Sum>;  // copied whole every step: slow and plain

bool within_bandwidth(const Topology& topology, const Step& step) {
  const auto load = [&](const std::set<LinkId>& links) {
    long sum = 0;
    for (const Send& send : step.sends) sum += static_cast<long>(links.count(send.link));
    return sum;
  };
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    if (load({l}) > static_cast<long>(topology.links[l].bandwidth) * step.rounds) return false;
  for (const SharedLimit& limit : topology.limits)
    if (load({limit.links.begin(), limit.links.end()}) > static_cast<long>(limit.bandwidth) * step.rounds)
      return false;
  return true;
}

// What is held after the step, or nothing if a rule is broken in it.
std::optional<Held> after(const Topology& topology, const Collective& collective, const Held& before,
                          const Step& step) {
  if (step.rounds < 1 || !within_bandwidth(topology, step)) return {};
  Held now = before;
  std::set<std::pair<Chunk, Rank>> copied;
  for (const bool reduce : {false, true})
    for (const Send& send : step.sends) {
      if (send.reduce != reduce) continue;
      const std::pair from{send.chunk, topology.links[send.link].src},
          to{send.chunk, topology.links[send.link].dst};
      if (!before.contains(from)) return {};
      if (reduce) {
        if (!collective.combining) return {};
        for (const auto& [n, count] : before.at(from)) now[to][n] += count;
        continue;
      }
      if (!copied.insert(to).second) return {};
      if (!collective.combining && before.contains(to)) return {};
      if (collective.combining && before.contains(to)) {
        Sum complete;
        for (Rank n : collective.chunks[send.chunk].pre) complete[n] = 1;
        if (before.at(to) == complete) return {};
      }
      now[to] = before.at(from);
    }
  for (const auto& [place, sum] : now)
    for (const auto& [n, count] : sum)
      if (count > 1) return {};
  return now;
}

bool is_right(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  Held held;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].pre) held[{c, n}] = {{collective.combining ? n : 0, 1}};
  for (const Step& step : schedule.steps) {
    std::optional<Held> next = after(topology, collective, held, step);
    if (!next) return false;
    held = *next;
  }
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].post) {
      if (!held.contains({c, n})) return false;
      if (!collective.combining) continue;
      Sum complete;
      for (Rank i : collective.chunks[c].pre) complete[i] = 1;
      if (held[{c, n}] != complete) return false;
    }
  return true;
}

struct Case {
  std::string name = {};
  Topology topology = {};
  Collective collective = {};
  Schedule schedule = {};
};

// Block b starts at rank b + 1 and is complete at rank b after ranks - 1 steps of adding; then it is copied
// on.
Schedule ring_schedule(int ranks, int chunks, bool add, bool copy) {
  Schedule schedule;
  for (int phase = add ? 0 : 1; phase < (copy ? 2 : 1); ++phase)
    for (int s = 1; s < ranks; ++s) {
      Step step{.rounds = chunks};
      for (Rank n = 0; n < ranks; ++n)
        for (int i = 0; i < chunks; ++i)
          step.sends.push_back({.chunk = (n + 2 * ranks - s + phase) % ranks * chunks + i,
                                .link = 2 * n,
                                .reduce = phase == 0});
      schedule.steps.push_back(step);
    }
  return schedule;
}

Schedule direct_schedule(const Topology& topology, const Collective& collective, int rounds) {
  Step step{.rounds = rounds};
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].pre)
      for (Rank m : collective.chunks[c].post)
        if (n != m)
          step.sends.push_back(
              {.chunk = c, .link = find_link(topology, n, m), .reduce = collective.combining});
  return {.steps = {step}};
}

std::vector<Case> good_cases() {
  std::vector<Case> cases = {
      {"ring reducescatter", test::ring(4), make_collective("reducescatter", 4, 2),
       ring_schedule(4, 2, true, false)},
      {"ring allgather", test::ring(4), make_collective("allgather", 4, 2), ring_schedule(4, 2, false, true)},
      {"ring allreduce", test::ring(4), make_collective("allreduce", 4, 4), ring_schedule(4, 1, true, true)},
      {"direct allgather", test::full(4), make_collective("allgather", 4, 1), {}},
      {"direct alltoall", test::hub(4), make_collective("alltoall", 4, 1), {}},
      {"direct reducescatter", test::hub(4), make_collective("reducescatter", 4, 1), {}},
      {"one-shot allreduce", test::full(4), make_collective("allreduce", 4, 2), {}},
  };
  for (Case& c : cases)
    if (c.schedule.steps.empty())
      c.schedule = direct_schedule(c.topology, c.collective,
                                   c.topology.limits.empty() ? c.collective.chunks_per_block : 3);
  cases[6].schedule.steps[0].rounds = 2;
  return cases;
}

// One change; what it was, in a word.
std::string mutate(Case& c, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return static_cast<int>(random() % n); };
  std::vector<Step>& steps = c.schedule.steps;
  const int s = below(steps.size());
  std::vector<Send>& sends = steps[s].sends;
  const int i = below(sends.size());
  switch (below(9)) {
    case 0:
      sends.erase(sends.begin() + i);
      return "remove";
    case 1:
      sends.push_back(sends[i]);
      return "duplicate";
    case 2:
      sends[i].link = below(c.topology.links.size());
      return "other link";
    case 3:
      sends[i].chunk = below(c.collective.chunks.size());
      return "other chunk";
    case 4:
      sends[i].reduce = !sends[i].reduce;
      return "flip reduce";
    case 5:
      --steps[s].rounds;
      return "fewer rounds";
    case 6:
      std::swap(steps[s], steps[below(steps.size())]);
      return "swap steps";
    case 7: {
      const Send moved = sends[i];
      sends.erase(sends.begin() + i);
      steps[below(steps.size())].sends.push_back(moved);
      return "move send";
    }
    default:
      steps[below(steps.size())].sends.push_back({.chunk = below(c.collective.chunks.size()),
                                                  .link = below(c.topology.links.size()),
                                                  .reduce = below(2) == 1});
      return "add send";
  }
}

// Equal but for the order of the sends in a step, which has no meaning.
bool same_sends(Schedule a, Schedule b) {
  for (Schedule* schedule : {&a, &b})
    for (Step& step : schedule->steps) std::sort(step.sends.begin(), step.sends.end());
  return a == b;
}

TEST(Mutations, TheVerifierAndASlowOneAgree) {
  constexpr unsigned seed = 20211;
  constexpr int mutants_per_case = 600;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  std::map<std::string, std::pair<int, int>> tally;  // kind -> (mutants that differ, caught)
  int changed = 0, caught = 0;
  for (const Case& good : good_cases()) {
    ASSERT_TRUE(is_right(good.topology, good.collective, good.schedule)) << good.name;
    ASSERT_TRUE(violations(good.topology, good.collective, good.schedule).empty()) << good.name;
    for (int k = 0; k < mutants_per_case; ++k) {
      Case mutant = good;
      const std::string kind = mutate(mutant, random);
      if (same_sends(mutant.schedule, good.schedule)) continue;
      const std::vector<Fault> faults = violations(mutant.topology, mutant.collective, mutant.schedule);
      ASSERT_EQ(faults.empty(), is_right(mutant.topology, mutant.collective, mutant.schedule))
          << good.name << ", " << kind << ": " << (faults.empty() ? "nothing found" : faults[0].words);
      ++changed;
      ++tally[kind].first;
      caught += !faults.empty();
      tally[kind].second += !faults.empty();
    }
  }
  for (const auto& [kind, count] : tally)
    std::cout << kind << ": " << count.second << " of " << count.first << " caught\n";
  std::cout << "all: " << caught << " of " << changed << " caught, the others judged harmless\n";
  // Each send of these schedules is needed and each round is used, so these can never be harmless.
  for (const char* kind : {"remove", "duplicate", "other chunk", "fewer rounds"})
    EXPECT_EQ(tally[kind].first, tally[kind].second) << kind;
  EXPECT_GT(changed, 3000);
}

}  // namespace
}  // namespace chorale
