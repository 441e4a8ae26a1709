#include "pareto/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "ir/error.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/synthesis_search.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using Costs = std::set<std::vector<int>>;

Result search(const std::string& machine, const std::string& name, FrontierOptions options) {
  const Topology topology = flatten(named_topology(machine));
  return search_frontier(topology, make_collective(name, topology.ranks, 1), options);
}

Costs frontier(const Result& result) {
  Costs costs;
  for (const Point& p : result.points)
    if (p.on_frontier) costs.insert({p.cost.steps, p.cost.rounds, p.cost.chunks});
  return costs;
}

void expect_sound(const Result& result) {
  EXPECT_TRUE(result.complete);
  const CheckReport report = check_result(result, "", {});
  EXPECT_EQ(report.faults, std::vector<Fault>{});
  EXPECT_EQ(report.undecided, 0);
  EXPECT_EQ(report.schedules, static_cast<int>(result.points.size()));
}

// Recursive doubling adds ((0 1) (2 3)) or ((0 3) (1 2)) on a ring. Where latencies differ the catalogue is
// asked for what is fast.
TEST(SearchFrontier, AFixedOrderLeavesOutWhatAddsOtherwise) {
  Topology machine = named_topology("ring:4");
  for (Link& link : machine.links)
    if (link.src + link.dst <= 3) link.alpha_us = 2;
  Collective collective = make_collective("allreduce", 4, 1);
  collective.order = parse_sum_order("(((0 1) 2) 3)", 4, "here");
  const Result result =
      search_frontier(machine, collective, {.max_chunks = 1, .synthesis = {.limits = {.conflicts = 100}}});
  EXPECT_FALSE(result.points.empty());
  EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{});
}

// A caller that must end finds an answer before anything is searched. Baselines were left out as if each had
// sends for each pair of ranks, which trees have not.
TEST(SearchFrontier, ALargeMachineHasAnAnswerBeforeTheSearch) {
  std::atomic<bool> stop = false;
  std::size_t found = 0;
  search("torus:32x32", "allreduce",
         {.synthesis = {.limits = {.stop = &stop}}, .publish = [&](const auto& so_far) {
            found = so_far().points.size();
            stop = true;
          }});
  EXPECT_GT(found, 0u);
}

// On a ring contributions have to be relayed, of which no refutation speaks: an Alltoall and an Allgather
// take (2 + 3/2) / 4 rounds per chunk, which the bound is, and gathering whole vectors 3/2.
TEST(SearchFrontier, SumsThatAreMadeAtOnceAreProvenByBoundsAlone) {
  for (const auto& [machine, complete] : {std::pair("ring:4", false), {"full:4", true}}) {
    Collective once = make_collective("allreduce", 4, 1);
    once.order = parse_sum_order("once", 4, "here");
    const Result result = search_frontier(named_topology(machine), once, {.max_chunks = 2});
    EXPECT_FALSE(result.points.empty());
    EXPECT_EQ(result.complete, complete) << machine;
    EXPECT_EQ(result.stopped, complete ? Stopped::No : Stopped::NotExpressible) << machine;
    for (const Claim& claim : result.claims)
      EXPECT_FALSE(claim.collective == CollectiveKind::AllReduce &&
                   claim.certificate.kind == Certificate::Kind::Refutation)
          << machine;
    const Point& widest = result.points.back();
    EXPECT_EQ(8 * widest.cost.rounds, (complete ? 4 : 7) * widest.cost.chunks) << machine;
    EXPECT_TRUE(widest.proven) << machine;
    EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{});
  }
}

// By index 0 and 1 are added first, then 2 and 3, which no link joins: partial sums do not come together, and
// whole vectors that are gathered take 8 rounds per chunk. Copies are relayed, so an Alltoall and an
// Allgather take as many as where sums are made at once. Both are found in a small effort.
TEST(SearchFrontier, WhatHasAFixedOrderIsAddedUpFromCopies) {
  Topology machine{.name = "nine ranks", .ranks = 9};
  for (const auto& [a, b, bandwidth] : std::vector<std::array<int, 3>>{{0, 1, 2},
                                                                       {0, 2, 1},
                                                                       {0, 8, 1},
                                                                       {1, 8, 4},
                                                                       {2, 6, 4},
                                                                       {2, 7, 2},
                                                                       {2, 8, 4},
                                                                       {3, 6, 4},
                                                                       {3, 8, 4},
                                                                       {4, 8, 1},
                                                                       {5, 6, 2},
                                                                       {5, 7, 2},
                                                                       {6, 7, 4}}) {
    machine.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
    machine.links.push_back({.src = b, .dst = a, .bandwidth = bandwidth});
  }
  for (const char* order : {"by-index", "once"}) {
    Collective sum = make_collective("allreduce", 9, 1);
    sum.order = parse_sum_order(order, 9, "here");
    const Result result = search_frontier(machine, sum, {.effort = 5});
    const Cost& widest = result.points.back().cost;
    EXPECT_LE(9 * widest.rounds, 16 * widest.chunks) << order;
    EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{}) << order;
  }
}

// Cai et al. 2021, table 4: latency-optimal in 2 steps, bandwidth-optimal at 7/6 rounds per chunk.
TEST(SearchFrontier, Dgx1Allgather) {
  const Result result = search("dgx1", "allgather", {.max_chunks = 6});
  expect_sound(result);
  EXPECT_EQ(frontier(result), (Costs{{2, 3, 2}, {3, 7, 6}}));
}

TEST(SearchFrontier, ReduceScatterIsAsGoodAsItsDual) {
  const Result result = search("dgx1", "reducescatter", {.max_chunks = 6});
  expect_sound(result);
  EXPECT_EQ(frontier(result), (Costs{{2, 3, 2}, {3, 7, 6}}));
  for (const Point& point : result.points)
    EXPECT_TRUE(point.construction != name_of(Engine::Sat) || point.method == Method::Dual);
}

// On a machine that equals its reverse; the dual of an Allgather of dgx1 took 3 s and a solver.
TEST(SearchFrontier, ReduceScatterIsTheAllgatherReversed) {
  for (const char* const machine : {"dgx1", "mesh:2x3", "ring:5"}) {
    SCOPED_TRACE(machine);
    const Result sums = search(machine, "reducescatter", {}), copies = search(machine, "allgather", {});
    expect_sound(sums);
    ASSERT_EQ(frontier(sums), frontier(copies));
    // A baseline has the name of its collective.
    std::string construction = sums.points.back().construction;
    if (const std::size_t at = construction.find("reducescatter"); at != std::string::npos)
      construction.replace(at, 13, "allgather");
    EXPECT_EQ(construction, copies.points.back().construction);
  }
}

TEST(SearchFrontier, AllReduceTakesTheBestOfItsFamilies) {
  const Result ring = search("ring:4", "allreduce", {.max_chunks = 1});
  expect_sound(ring);
  // Directly, everything at once; in 2 + 2 steps of a quarter of the data: half the rounds.
  EXPECT_EQ(frontier(ring), (Costs{{2, 2, 1}, {4, 4, 4}}));
  // The composed points of 4 chunks per block have 16 chunks per vector and 3/2 rounds per chunk, as has a
  // tree.
  const Result line = search("line:4", "allreduce", {.min_chunks = 4, .max_chunks = 4});
  expect_sound(line);
  EXPECT_EQ(frontier(line), (Costs{{3, 12, 4}, {4, 8, 4}, {6, 6, 4}}));
}

TEST(SearchFrontier, TwoStepAllReduceOfDgx1IsDirect) {
  const Result result = search("dgx1", "allreduce", {.max_chunks = 2});
  expect_sound(result);
  bool found = false;
  for (const Point& p : result.points) found = found || (p.cost.steps == 2 && p.method == Method::Direct);
  EXPECT_TRUE(found);
}

// In two steps what an end of the line has crosses one link in each, all of it: 2 rounds per chunk. In more
// steps four crossings of each chunk over four links leave 1.
TEST(SearchFrontier, FewStepsOfAnAllReduceHaveABound) {
  const Result result = search("line:3", "allreduce", {.synthesis = {.limits = {.conflicts = 0}}});
  const auto fewest = std::ranges::find_if(
      result.points, [](const Point& point) { return point.on_frontier && point.cost.steps == 2; });
  ASSERT_NE(fewest, result.points.end());
  EXPECT_EQ(fewest->cost.rounds, 2 * fewest->cost.chunks);
  EXPECT_TRUE(fewest->proven);
  EXPECT_EQ(rate_bound(result), (Rate{1, 1}));
}

// The first of three chunks takes log2(8) rounds to all, and each other one a round more.
TEST(SearchFrontierLong, BroadcastOnASwitchIsProvenByGrowth) {
  const Result result = search("hub:8", "broadcast", {.max_chunks = 3});
  expect_sound(result);
  EXPECT_TRUE(frontier(result).count({5, 5, 3}));
  for (const Claim& claim : result.claims) EXPECT_NE(claim.certificate.kind, Certificate::Kind::Refutation);
}

// The frontier does not depend on what helps to find it.
TEST(SearchFrontierLong, BoundsAndSymmetryOnlySaveTime) {
  for (const char* name : {"broadcast", "allgather", "alltoall", "scatter"}) {
    const Result all = search("ring:4", name, {.max_chunks = 2});
    const Result no_bounds = search("ring:4", name, {.max_chunks = 2, .synthesis = {.use_bounds = false}});
    const Result no_symmetry =
        search("ring:4", name, {.max_chunks = 2, .synthesis = {.use_symmetry = false}});
    expect_sound(no_bounds);
    EXPECT_EQ(frontier(all), frontier(no_bounds)) << name;
    EXPECT_EQ(frontier(all), frontier(no_symmetry)) << name;
  }
}

std::string without_times(Result result) {
  result.seconds = 0;
  for (Point& p : result.points) p.seconds = 0;
  for (Claim& c : result.claims) c.seconds = 0;
  return to_json(result);
}

TEST(SearchFrontier, TheSameSeedGivesTheSameResult) {
  const FrontierOptions options{.max_chunks = 3};
  const std::string once = without_times(search("hypercube:3", "broadcast", options));
  EXPECT_EQ(once, without_times(search("hypercube:3", "broadcast", options)));
  FrontierOptions two_jobs = options;
  two_jobs.jobs = 2;
  EXPECT_EQ(once, without_times(search("hypercube:3", "broadcast", two_jobs)));
}

TEST(SearchFrontier, KeepsToTheSpaceAskedFor) {
  for (const Point& p : search("dgx1", "allgather", {.max_chunks = 6, .extra_rounds = 1}).points)
    EXPECT_LE(p.cost.rounds, p.cost.steps + 1);
  for (const Point& p : search("dgx1", "allgather", {.max_chunks = 6, .max_steps = 2}).points)
    EXPECT_LE(p.cost.steps, 2);
  EXPECT_THROW(search("ring:4", "allgather", {.min_chunks = 3, .max_chunks = 2}), InputError);
}

// What is left open is reported, and nothing that rests on it is called proven.
TEST(SearchFrontier, ALimitLeavesPointsUnproven) {
  const Result result =
      search("hub:8", "broadcast",
             {.max_chunks = 4, .synthesis = {.limits = {.conflicts = 20}, .use_bounds = false}});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.stopped, Stopped::ConflictLimit);
  EXPECT_TRUE(
      std::any_of(result.points.begin(), result.points.end(), [](const Point& p) { return !p.proven; }));
  EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{});
}

TEST(SearchFrontier, StopsWhenToldTo) {
  const std::atomic<bool> stop = true;
  const Result result =
      search("hypercube:3", "allreduce", {.max_chunks = 8, .synthesis = {.limits = {.stop = &stop}}});
  EXPECT_EQ(result.stopped, Stopped::Interrupted);
  EXPECT_FALSE(result.complete);
}

TEST(SearchFrontier, WhatNeedNotMoveTakesNoStep) {
  const Topology topology = named_topology("ring:4");
  const Collective stays{
      .custom_name = "stay", .ranks = 4, .chunks = {{.pre = {0, 1}, .post = {1}}, {.pre = {3}, .post = {3}}}};
  const Result result = search_frontier(topology, stays, {});
  ASSERT_EQ(result.points.size(), 1u);
  EXPECT_EQ(result.points[0].cost, (Cost{.steps = 0, .rounds = 0, .chunks = 1}));
}

// With k = 0 a schedule has as many rounds as steps, and with enough steps there always is one: three of
// three for dgx1 Alltoall. The search once stopped where the first number of steps had none, and called it
// impossible.
TEST(SearchFrontier, KSynchronousSchedulesNeedMoreStepsNotNone) {
  const Result dgx1 = search("dgx1", "alltoall", {.max_chunks = 1, .extra_rounds = 0});
  expect_sound(dgx1);
  EXPECT_EQ(frontier(dgx1), (Costs{{3, 3, 1}}));
  for (const char* machine : {"star:4", "hub:4", "ring:5"})
    for (int k : {0, 1}) {
      const Result result = search(machine, "alltoall", {.max_chunks = 1, .extra_rounds = k});
      expect_sound(result);
      EXPECT_FALSE(result.points.empty()) << machine << " " << k;
    }
  // 5 steps of one round carry two chunks where 3 of one round carry one.
  const Result mesh = search("mesh:2x3", "allgather", {.max_chunks = 2, .extra_rounds = 0});
  expect_sound(mesh);
  EXPECT_TRUE(frontier(mesh).count({5, 5, 2}));
}

// Two hops, yet two steps are impossible for any number of rounds: what was added too soon cannot be taken
// apart.
TEST(SearchFrontier, OddRingsHaveAnAllReduce) {
  for (const char* machine : {"ring:3", "ring:5", "ring:7"}) {
    const Result result = search(machine, "allreduce", {.max_chunks = 1});
    expect_sound(result);
    EXPECT_FALSE(result.points.empty()) << machine;
  }
}

// Nothing is asked of a solver, and no bound is looked for; an answer there is.
TEST(SearchFrontier, NoLimitLeavesAConnectedMachineWithoutAnAnswer) {
  const std::atomic<bool> stop = true;
  for (const char* machine :
       {"dgx1", "ring:4", "line:4", "mesh:2x3", "hypercube:3", "full:4", "hub:4", "ring:5"})
    for (const std::string& name : collective_names()) {
      const Result no_conflicts =
          search(machine, name, {.max_chunks = 1, .synthesis = {.limits = {.conflicts = 0}}});
      EXPECT_FALSE(no_conflicts.points.empty()) << machine << " " << name;
      EXPECT_EQ(check_result(no_conflicts, "", {}).faults, std::vector<Fault>{}) << machine << " " << name;
      const Result late = search(machine, name, {.time_limit = std::chrono::milliseconds(0)});
      EXPECT_FALSE(late.points.empty()) << machine << " " << name;
    }
}

// Under the same limit a larger space gives no less.
TEST(SearchFrontier, AskingForMoreFindsNoLess) {
  for (const char* name : {"allreduce", "broadcast", "alltoall"}) {
    Result before;
    for (int chunks = 1; chunks <= 3; ++chunks) {
      const Result now =
          search("hub:4", name, {.max_chunks = chunks, .synthesis = {.limits = {.conflicts = 10}}});
      for (const Point& point : before.points)
        EXPECT_TRUE(std::any_of(now.points.begin(), now.points.end(),
                                [&](const Point& p) {
                                  return p.cost.steps <= point.cost.steps &&
                                         compare_rate(p.cost, point.cost) <= 0;
                                }))
            << name << " " << chunks;
      before = now;
    }
  }
}

TEST(SearchFrontier, SaysAtAnyTimeWhatWasFound) {
  std::function<Result()> found;
  const Result result = search(
      "ring:4", "allreduce", {.max_chunks = 1, .publish = [&](std::function<Result()> now) { found = now; }});
  const Result again = found();
  EXPECT_EQ(frontier(again), frontier(result));
  EXPECT_TRUE(again.complete);
}

SynthesisResult ask(const std::string& machine, const std::string& name, const SynthesisQuestion& question,
                    const FrontierOptions& options = {}) {
  const Topology topology = flatten(named_topology(machine));
  return search_synthesis(topology, make_collective(name, topology.ranks, 1), question, options);
}

TEST(SearchSynthesis, FindsTheFewestStepsOfASum) {
  // By hops two steps would do; three and three rounds are the fewest.
  const SynthesisResult ring = ask("ring:5", "allreduce", {});
  EXPECT_EQ(ring.verdict, Verdict::Sat);
  EXPECT_EQ(ring.result.points.at(0).cost, (Cost{.steps = 3, .rounds = 3, .chunks = 1}));
  EXPECT_TRUE(ring.result.complete);  // of schedules of 3 steps
  EXPECT_EQ(check_result(ring.result, "", {}).faults, std::vector<Fault>{});
  const SynthesisResult two = ask("ring:5", "allreduce", {.steps = 2});
  EXPECT_EQ(two.verdict, Verdict::Unsat);
  EXPECT_TRUE(two.result.complete);
  EXPECT_EQ(check_result(two.result, "", {}).faults, std::vector<Fault>{});
}

// Whole vectors of 2 chunks are gathered in 2 steps of 3 rounds; 4 chunks go to the ranks that add them up in
// 2 steps of 2 rounds, and as many bring their sums to all; of 8 the bound is 7 rounds.
TEST(SearchSynthesis, FindsSumsThatAreMadeAtOnce) {
  Collective once = make_collective("allreduce", 4, 1);
  once.order = parse_sum_order("once", 4, "here");
  const auto answer = [&](const SynthesisQuestion& question) {
    SynthesisResult found = search_synthesis(named_topology("ring:4"), once, question, {});
    EXPECT_EQ(check_result(found.result, "", {}).faults, std::vector<Fault>{});
    return found;
  };
  for (const SynthesisQuestion& question : {SynthesisQuestion{.chunks = 2, .steps = 2, .rounds = 3},
                                            {.chunks = 4, .steps = 4, .rounds = 4},
                                            {.chunks = 8, .steps = 4, .rounds = 7}})
    EXPECT_EQ(answer(question).verdict, Verdict::Sat) << question.chunks;
  EXPECT_EQ(answer({.chunks = 8, .rounds = 6}).verdict, Verdict::Unsat);
  // Whether three steps are enough is open. The schedule of four is there all the same.
  const SynthesisResult open = answer({.chunks = 8, .rounds = 7});
  EXPECT_EQ(open.verdict, Verdict::Unknown);
  ASSERT_EQ(open.result.points.size(), 1U);
  EXPECT_EQ(open.result.points[0].cost.rounds, 7);
}

TEST(SearchSynthesis, AnswersEveryKindOfBudget) {
  EXPECT_EQ(ask("dgx1", "allgather", {.chunks = 6, .steps = 3, .rounds = 7}).verdict, Verdict::Sat);
  EXPECT_EQ(ask("dgx1", "allgather", {.chunks = 6, .steps = 2, .rounds = 7}).verdict, Verdict::Unsat);
  EXPECT_EQ(ask("ring:4", "allgather", {.rounds = 1}).verdict, Verdict::Unsat);
  EXPECT_EQ(ask("ring:4", "allgather", {.rounds = 2}).result.points.at(0).cost.steps, 2);
  EXPECT_EQ(ask("ring:4", "allgather", {.steps = 1}).verdict, Verdict::Unsat);
  for (Engine engine : {Engine::Smt, Engine::SatPartition})
    EXPECT_EQ(
        ask("ring:4", "allgather", {.steps = 2, .rounds = 2}, {.synthesis = {.engine = engine}}).verdict,
        Verdict::Sat);
}

TEST(SearchFrontier, AZeroStepPointHasItsChunks) {
  const Result result = search_frontier(
      named_topology("ring:3"), {.custom_name = "stay", .ranks = 3, .chunks = {{.pre = {0}, .post = {0}}}},
      {.min_chunks = 2, .max_chunks = 2});
  expect_sound(result);
  ASSERT_EQ(result.points.size(), 1u);
  EXPECT_EQ(result.points[0].cost, (Cost{.steps = 0, .rounds = 0, .chunks = 2}));
}

// A machine without links ended the program where nothing has to move.
TEST(SearchSynthesis, WhatNeedNotMoveNeedsNoLinks) {
  const Topology alone{.name = "alone", .ranks = 8};
  const Collective stays{.custom_name = "stay", .ranks = 8, .chunks = {{.pre = {4, 5, 7}, .post = {7}}}};
  const SynthesisResult answer = search_synthesis(alone, stays, {}, {});
  EXPECT_EQ(answer.verdict, Verdict::Sat);
  EXPECT_EQ(answer.result.points.at(0).cost.steps, 0);
  EXPECT_EQ(search_frontier(alone, stays, {}).points.at(0).cost.steps, 0);
}

// Found by random machines. A sum without a schedule that was constructed for its fewest steps; parts that
// share the k of their composition; a sum that is complete at a relay before it is spread.
TEST(SearchSynthesis, EndsWhereNothingWasConstructed) {
  const Topology fan{
      .name = "fan", .ranks = 3, .links = {{.src = 0, .dst = 1}, {.src = 2, .dst = 1}, {.src = 1, .dst = 0}}};
  const SynthesisResult answer = search_synthesis(fan, make_collective("reduce", 3, 1), {.chunks = 2}, {});
  EXPECT_EQ(answer.verdict, Verdict::Sat);
  EXPECT_EQ(check_result(answer.result, "", {}).faults, std::vector<Fault>{});
}

void expect_no_less(const Result& wide, const Result& narrow) {
  for (const Point& point : narrow.points)
    EXPECT_TRUE(std::any_of(wide.points.begin(), wide.points.end(),
                            [&](const Point& p) {
                              return p.cost.steps <= point.cost.steps &&
                                     compare_rate(p.cost, point.cost) <= 0;
                            }))
        << point.cost.steps << " steps, " << point.cost.rounds << " rounds";
}

TEST(SearchFrontierLong, ALargerKGivesNoLess) {
  for (const char* machine : {"star:3", "hub:5", "ring:5"})
    for (int conflicts : {0, 1, 50}) {
      FrontierOptions options{
          .max_chunks = 1, .extra_rounds = 0, .synthesis = {.limits = {.conflicts = conflicts}}};
      Result narrow = search(machine, "allreduce", options);
      for (int k : {1, 2, 3}) {
        options.extra_rounds = k;
        Result wide = search(machine, "allreduce", options);
        SCOPED_TRACE(std::string(machine) + ", k " + std::to_string(k));
        expect_no_less(wide, narrow);
        narrow = std::move(wide);
      }
    }
}

// Which share of the k is best for which part is known only together.
TEST(SearchFrontierLong, PartsShareTheK) {
  for (int k : {1, 2}) {
    const Result result = search("hub:6", "allreduce", {.max_chunks = 1, .extra_rounds = k});
    EXPECT_TRUE(result.complete) << k;
    EXPECT_EQ(result.points.back().cost, (Cost{.steps = 10 - k, .rounds = 10, .chunks = 6}));
  }
}

TEST(SearchFrontier, SumsOverRelaysAreComposedWhereTheyMayBe) {
  const auto link = [](int src, int dst, int bandwidth = 1) {
    return Link{.src = src, .dst = dst, .bandwidth = bandwidth};
  };
  const Topology machine{.name = "random",
                         .ranks = 7,
                         .links = {link(2, 3), link(3, 4), link(1, 2), link(0, 6, 2), link(3, 2),
                                   link(4, 3, 3), link(1, 0), link(6, 5, 2), link(5, 4, 3), link(2, 1)}};
  const Result result =
      search_frontier(machine, make_collective("allreduce", 7, 1),
                      {.min_chunks = 2, .max_chunks = 2, .time_limit = std::chrono::milliseconds(0)});
  EXPECT_FALSE(result.points.empty());
  EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{});
}

}  // namespace
}  // namespace chorale
