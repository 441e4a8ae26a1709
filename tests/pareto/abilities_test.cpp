// Machines whose switches multicast and reduce: what all report of them is compared with a verifier who tries
// all schedules of very small ones and counts by the words of ir/topology.h, in code of its own.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "bounds/lower_bounds.h"
#include "construct/incumbents.h"
#include "cost/program_time.h"
#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/search.h"
#include "pareto/synthesize.h"
#include "semantics/plain_formula.h"
#include "semantics/verify.h"
#include "solvers/sat_solver.h"
#include "tests/kit/random.h"
#include "topology/changes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using test::below;

constexpr int kNever = 1000;

// Rounds that a step needs, by counting each link and limit for itself.
int rounds_by_hand(const Topology& t, const std::vector<Send>& sends) {
  int rounds = 1;
  const auto need = [&](std::size_t load, int bandwidth) {
    rounds = std::max(rounds, (static_cast<int>(load) + bandwidth - 1) / bandwidth);
  };
  for (LinkId l = 0; l < std::ssize(t.links); ++l)
    need(static_cast<std::size_t>(std::ranges::count(sends, l, &Send::link)), t.links[l].bandwidth);
  for (const SharedLimit& limit : t.limits) {
    std::set<std::vector<int>> counted;
    for (const Send& send : sends) {
      if (!std::ranges::count(limit.links, send.link)) continue;
      const Link& link = t.links[send.link];
      if (limit.abilities.multicast && limit.abilities.reduce)
        counted.insert({send.chunk, send.reduce ? 1 : 0, send.reduce ? link.dst : link.src});
      else if (limit.abilities.multicast)
        counted.insert({send.chunk, link.src});
      else if (limit.abilities.reduce)
        counted.insert({send.chunk, link.dst});
      else
        counted.insert({send.chunk, send.link});
    }
    need(counted.size(), limit.bandwidth);
  }
  return rounds;
}

// By chunk and rank the contributions in the value, as bits; of copies one bit.
using Values = std::vector<unsigned>;

class ExhaustiveSchedules {
 public:
  ExhaustiveSchedules(const Topology& t, const Collective& c)
      : t_(t), c_(c), chunks_(static_cast<int>(c.chunks.size())) {}

  // The fewest rounds in at most this many steps.
  int fewest(int steps) {
    Values start(static_cast<std::size_t>(chunks_) * t_.ranks, 0);
    for (Chunk c = 0; c < chunks_; ++c)
      for (Rank n : c_.chunks[c].pre) start[at(c, n)] = c_.combining ? 1U << n : 1U;
    return from(start, steps);
  }

 private:
  std::size_t at(Chunk c, Rank n) const { return static_cast<std::size_t>(c) * t_.ranks + n; }

  unsigned all(Chunk c) const {
    if (!c_.combining) return 1;
    unsigned bits = 0;
    for (Rank n : c_.chunks[c].pre) bits |= 1U << n;
    return bits;
  }

  int from(const Values& values, int steps) {
    bool done = true;
    for (Chunk c = 0; c < chunks_; ++c)
      for (Rank n : c_.chunks[c].post) done = done && values[at(c, n)] == all(c);
    if (done) return 0;
    if (steps == 0) return kNever;
    const auto [known, fresh] = known_.try_emplace({values, steps}, kNever);
    if (!fresh) return known->second;
    std::map<Values, int> reached;  // with the fewest rounds
    std::vector<Send> sends;
    extend(values, 0, sends, values, reached);
    int best = kNever;
    for (const auto& [next, rounds] : reached)
      if (next != values) best = std::min(best, rounds + from(next, steps - 1));
    return known_[{values, steps}] = best;
  }

  // Decides chunk after chunk and link after link, numbered together.
  void extend(const Values& before, int number, std::vector<Send>& sends, Values after,
              std::map<Values, int>& reached) {
    const int links = static_cast<int>(t_.links.size());
    if (number == chunks_ * links) {
      const auto next = result(before, sends);
      if (!next) return;
      const int rounds = rounds_by_hand(t_, sends);
      const auto [known, fresh] = reached.try_emplace(*next, rounds);
      known->second = std::min(known->second, rounds);
      return;
    }
    extend(before, number + 1, sends, after, reached);
    const Chunk c = number / links;
    const LinkId l = number % links;
    const unsigned has = before[at(c, t_.links[l].dst)];
    if (before[at(c, t_.links[l].src)] == 0 || has == all(c)) return;
    for (bool reduce : {false, true}) {
      if (reduce && !c_.combining) continue;
      sends.push_back({.chunk = c, .link = l, .reduce = reduce});
      extend(before, number + 1, sends, after, reached);
      sends.pop_back();
    }
  }

  // What ranks have after the step; none where that breaks a rule.
  std::optional<Values> result(const Values& before, const std::vector<Send>& sends) const {
    Values after = before;
    std::set<std::size_t> replaced;
    for (const Send& send : sends) {
      const std::size_t to = at(send.chunk, t_.links[send.link].dst);
      if (send.reduce) continue;
      if (!replaced.insert(to).second) return std::nullopt;
      after[to] = before[at(send.chunk, t_.links[send.link].src)];
    }
    for (const Send& send : sends) {
      if (!send.reduce) continue;
      unsigned& value = after[at(send.chunk, t_.links[send.link].dst)];
      const unsigned more = before[at(send.chunk, t_.links[send.link].src)];
      if (value & more) return std::nullopt;
      value |= more;
    }
    return after;
  }

  const Topology& t_;
  const Collective& c_;
  const int chunks_;
  std::map<std::pair<Values, int>, int> known_ = {};
};

template <class Encoding>
std::optional<Schedule> encoded(const Topology& t, const Collective& c, const Budget& budget) {
  const Encoding encoding(t, c, budget, {});
  const auto solver = make_cadical();
  solver->add(encoding.formula());
  if (solver->solve(encoding.assume(budget), {}) != Verdict::Sat) return std::nullopt;
  return encoding.decode(solver->model(encoding.formula().variables));
}

std::optional<Schedule> plainly(const Topology& t, const Collective& c, const Budget& budget) {
  const PlainFormula formula(t, c, budget, true);
  const auto solver = make_cadical();
  solver->add(formula.formula());
  if (solver->solve({}, {}) != Verdict::Sat) return std::nullopt;
  return formula.schedule(solver->model(formula.formula().variables));
}

std::string words(const std::vector<Fault>& faults) {
  return faults.empty() ? "" : faults.front().words;
}

// Three ranks, some links, limits over some of them that can do anything.
Topology any_limits(std::mt19937& random) {
  Topology t{.name = "random", .ranks = 3};
  for (Rank a = 0; a < 3; ++a)
    for (Rank b = 0; b < 3; ++b)
      if (a != b && (below(random, 4) > 0 || b == (a + 1) % 3))
        t.links.push_back({.src = a, .dst = b, .bandwidth = 1 + below(random, 2)});
  for (int i = 0; i < 3; ++i) {
    SharedLimit limit{.name = "limit", .bandwidth = 1};
    for (LinkId l = 0; l < std::ssize(t.links); ++l)
      if (below(random, 2) == 0) limit.links.push_back(l);
    limit.abilities = {.multicast = below(random, 2) == 0, .reduce = below(random, 2) == 0};
    if (!limit.links.empty()) t.limits.push_back(limit);
  }
  return t;
}

// Three ranks on one or two switches that can do the same or not.
Topology any_switches(std::mt19937& random) {
  Topology t{.name = "switches", .ranks = 3, .switches = 1 + below(random, 2)};
  const auto join = [&](Node a, Node b) {
    const int width = 1 + below(random, 2);
    t.links.push_back({.src = a, .dst = b, .bandwidth = width});
    t.links.push_back({.src = b, .dst = a, .bandwidth = width});
  };
  for (Rank n = 0; n < 3; ++n) join(n, 3 + below(random, t.switches));
  if (t.switches == 2) join(3, 4);
  for (int i = 0; i < t.switches; ++i)
    t.abilities.push_back({.multicast = below(random, 3) > 0, .reduce = below(random, 3) > 0});
  return t;
}

Collective asked(std::mt19937& random) {
  constexpr const char* kNames[] = {"broadcast", "allgather", "allreduce", "reduce", "scatter", "allreduce"};
  const char* const name = kNames[below(random, 6)];
  return make_collective(name, 3, name == std::string("broadcast") ? 2 : 1);
}

TEST(Abilities, EverybodySaysWhatTryingAllSchedulesSays) {
  std::mt19937 random(12);
  int possible = 0, impossible = 0, helped = 0;
  for (int i = 0; i < 60; ++i) {
    const Topology described = i % 2 == 0 ? any_limits(random) : any_switches(random);
    const Topology t = flatten(described);
    const Collective c = asked(random);
    ExhaustiveSchedules exhaustive(t, c);
    Topology plain = t;
    for (SharedLimit& limit : plain.limits) limit.abilities = {};
    for (int steps = 1; steps <= 2; ++steps) {
      const int fewest = exhaustive.fewest(steps);
      helped += fewest < ExhaustiveSchedules(plain, c).fewest(steps);
      const std::string where = to_json(described) + name_of(c) + " in " + std::to_string(steps);
      EXPECT_LE(fewest_rounds_in(t, c, steps).rounds, fewest == kNever ? kNoSchedule : fewest) << where;
      for (const Point& point : incumbents(t, c))
        if (point.cost.steps <= steps) {
          EXPECT_GE(point.cost.rounds, fewest) << where;
        }
      for (int rounds = std::max(steps, fewest - 1); rounds <= std::min(fewest, 4); ++rounds) {
        const Budget budget{.steps = steps, .rounds = rounds};
        const bool is_possible = rounds >= fewest;
        ++(is_possible ? possible : impossible);
        std::vector<Schedule> found;
        const auto agrees = [&](const std::optional<Schedule>& says) {
          EXPECT_EQ(says.has_value(), is_possible) << where << " steps, " << rounds << " rounds";
          if (says) found.push_back(*says);
        };
        agrees(c.combining ? encoded<ContributionEncoding>(t, c, budget)
                           : encoded<StepRoundEncoding>(t, c, budget));
        agrees(plainly(t, c, budget));
        if (const Answer answer = synthesize(t, c, budget); answer.point)
          agrees(answer.point->schedule);
        else
          EXPECT_EQ(answer.verdict, is_possible ? Verdict::Sat : Verdict::Unsat) << where;
        for (Schedule& each : found) {
          EXPECT_EQ(words(violations(t, c, each)), "") << where;
          EXPECT_LE(total_rounds(each), rounds) << where;
          for (Step& step : each.steps) {
            EXPECT_EQ(needed_rounds(t, step), rounds_by_hand(t, step.sends)) << where;
            step.rounds = rounds_by_hand(t, step.sends);
            EXPECT_EQ(words(violations(t, c, each)), "") << where;
            --step.rounds;  // forged
            EXPECT_FALSE(violations(t, c, each).empty()) << where;
            ++step.rounds;
          }
        }
      }
    }
  }
  EXPECT_GT(possible, 40);
  EXPECT_GT(impossible, 20);
  EXPECT_GT(helped, 20);
}

TEST(Abilities, AreKeptByFilesAndByTurningRoundTwice) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i)
    for (const Topology& t : {any_limits(random), any_switches(random)}) {
      EXPECT_EQ(reversed(reversed(t)), t);
      // Turning round and removing switches are one, in either order.
      EXPECT_EQ(abilities_of(flatten(reversed(t))), abilities_of(reversed(flatten(t))));
      Topology read = topology_from_json(to_json(t), "t");
      if (!abilities_of(t).any()) read.abilities = t.abilities;  // none stated is none
      EXPECT_EQ(read, t);
    }
}

Result frontier_of(const std::string& machine, const std::string& name, const Abilities& abilities,
                   int chunks) {
  const Topology t = flatten(load_topology(machine, {.switches = abilities}));
  return search_frontier(t, make_collective(name, t.ranks, 1), {.max_chunks = chunks});
}

// One copy leaves the root, and a switch makes three of it. Each rank has three chunks to receive, one a
// round. A sum goes up once from each rank, and comes down once to each.
TEST(Abilities, KnownAnswersOnAHub) {
  struct Row {
    const char* name;
    Abilities abilities;
    int steps, rounds;
  };
  constexpr Abilities kCopies{.multicast = true}, kSums{.reduce = true},
      kBoth{.multicast = true, .reduce = true};
  for (const auto& [name, abilities, steps, rounds] :
       {Row{"broadcast", kCopies, 1, 1}, Row{"allgather", kCopies, 1, 3}, Row{"reduce", kSums, 1, 1},
        Row{"reducescatter", kSums, 1, 3}, Row{"allreduce", kBoth, 1, 1}, Row{"broadcast", {}, 1, 3}}) {
    const Result result = abilities.any() ? frontier_of("hub:4", name, abilities, 1)
                                          : search_frontier(load_topology("hub:4"),
                                                            make_collective(name, 4, 1), {.max_chunks = 1});
    ASSERT_FALSE(result.points.empty()) << name;
    EXPECT_TRUE(result.complete) << name;
    EXPECT_EQ(result.points.front().cost, (Cost{.steps = steps, .rounds = rounds})) << name;
    EXPECT_TRUE(result.points.front().proven) << name;
    const CheckReport report = check_result(result, "", {});
    EXPECT_TRUE(report.faults.empty()) << name;
  }
}

// Two leaves with two ranks each, and one spine: up and down every wire the sum once and the result once, so
// an AllReduce of one chunk has two steps of a round. Of four chunks, one for each rank, a rank's cable takes
// three up in the first step and three down in the second. Of eight the halves meet: 3 + 4 + 3 rounds, and
// not 6 + 6.
TEST(Abilities, SumsAndCopiesBetweenSwitches) {
  const Topology t =
      flatten(load_topology("leaf-spine:2x2x1", {.switches = {.multicast = true, .reduce = true}}));
  for (const auto& [chunks, steps, rounds] :
       {std::array{1, 2, 2}, std::array{4, 2, 6}, std::array{8, 3, 10}}) {
    const std::vector<Point> points = incumbents(t, make_collective("allreduce", 4, chunks));
    EXPECT_TRUE(std::ranges::any_of(points, [&](const Point& point) {
      return point.cost.steps <= steps && point.cost.rounds <= rounds;
    })) << chunks;
  }
}

// The links of rank 0 are slower to begin, so time is simulated: three copies, each over a link of its own,
// leave at once.
TEST(Abilities, SimulatedTimeHasACopyOnACableOnce) {
  Topology t = load_topology("hub:4", {.switches = {.multicast = true}});
  Schedule broadcast{.steps = {{.rounds = 1}}};
  double alpha_us = 0;
  for (LinkId l = 0; l < std::ssize(t.links); ++l)
    if (t.links[l].src == 0) {
      broadcast.steps[0].sends.push_back({.chunk = 0, .link = l});
      alpha_us = t.links[l].alpha_us *= 2;
    }
  constexpr double kBytes = 1e6;
  const double once = kBytes * t.links[0].beta_us_per_byte;
  EXPECT_DOUBLE_EQ(schedule_time(broadcast, t, 1, kBytes).us, alpha_us + once);
  for (SharedLimit& limit : t.limits) limit.abilities = {};
  EXPECT_DOUBLE_EQ(schedule_time(broadcast, t, 1, kBytes).us, alpha_us + 3 * once);
}

TEST(Abilities, NeedASwitch) {
  EXPECT_THROW(load_topology("ring:4", {.switches = {.multicast = true}}), InputError);
  EXPECT_THROW(load_hierarchy("a100:2", {.switches = {.reduce = true}}), InputError);
  EXPECT_EQ(load_topology("hub:4", {.switches = {.reduce = true}}).name, "hub:4 whose switches reduce");
}

// Where one switch multiplies and the other adds up, wires between them count every send
// (docs/topologies.md).
TEST(Abilities, WiresBetweenUnlikeSwitchesOnlyForward) {
  Topology t = load_topology("leaf-spine:2x2x1");
  t.abilities = {{.multicast = true}, {.reduce = true}, {.reduce = true}};
  for (const SharedLimit& limit : flatten(t).limits) {
    const bool between = limit.links.size() > 3;  // the cable of a rank has three ways
    EXPECT_FALSE(between && limit.abilities.any()) << limit.name;
  }
  t.abilities = {{}, {.reduce = true}, {.reduce = true}};
  int reducing = 0;
  for (const SharedLimit& limit : flatten(t).limits) {
    EXPECT_FALSE(limit.abilities.multicast);
    reducing += limit.abilities.reduce;
  }
  EXPECT_EQ(reducing, 6);  // down to four ranks, and up from two leaves
}

}  // namespace
}  // namespace chorale
