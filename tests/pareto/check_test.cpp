// A result is believed only as far as its check goes: every change that makes it state something else is
// found.
#include "pareto/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "construct/more_steps.h"
#include "ir/json_report.h"
#include "pareto/findings.h"
#include "pareto/search.h"
#include "pareto/synthesis_search.h"
#include "semantics/verify.h"
#include "solvers/proof.h"
#include "tests/faults.h"
#include "topology/builders.h"

namespace chorale {
namespace {

const Result& sound() {
  static const Result result = search_frontier(named_topology("ring:4"), make_collective("broadcast", 4, 1),
                                               {.min_chunks = 3, .max_chunks = 3});
  return result;
}

std::vector<Fault> faults_after(const std::function<void(Result&)>& change) {
  Result result = sound();
  change(result);
  return check_result(result, "", {}).faults;
}

Claim& first(Result& result, Certificate::Kind kind) {
  for (Claim& claim : result.claims)
    if (claim.certificate.kind == kind) return claim;
  throw std::logic_error("there is no such claim");
}

TEST(CheckResult, AcceptsWhatIsSound) {
  EXPECT_TRUE(faults_after([](Result&) {}).empty());
  const CheckReport report = check_result(sound(), "", {});
  EXPECT_GT(report.schedules, 1);
  EXPECT_GT(report.bounds, 1);
  EXPECT_GT(report.refutations, 0);
  EXPECT_EQ(report.plain, report.refutations);
  EXPECT_EQ(check_result(sound(), "", {}, {}, {.conflicts = 0}).plain, 0);
}

TEST(CheckResult, FindsChangedSchedules) {
  const auto sends = [](Result& r) -> std::vector<Send>& { return r.points[0].schedule.steps[0].sends; };
  EXPECT_FALSE(faults_after([&](Result& r) { sends(r).pop_back(); }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { sends(r).push_back(sends(r).back()); }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { sends(r)[0].chunk ^= 1; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { sends(r)[0].reduce = true; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { --r.points[0].schedule.steps[0].rounds; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { r.points[0].schedule.steps.pop_back(); }).empty());
}

TEST(CheckResult, FindsChangedCosts) {
  EXPECT_FALSE(faults_after([](Result& r) { --r.points[0].cost.rounds; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { --r.points[0].cost.steps; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { ++r.points[0].cost.chunks; }).empty());
}

TEST(CheckResult, FindsChangedClaims) {
  using Kind = Certificate::Kind;
  EXPECT_FALSE(faults_after([](Result& r) { ++first(r, Kind::Distance).steps; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { ++first(r, Kind::Refutation).rounds; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { ++first(r, Kind::Refutation).steps; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { ++first(r, Kind::Refutation).chunks; }).empty());
  EXPECT_FALSE(
      faults_after([](Result& r) { first(r, Kind::Refutation).certificate.formula_sha256[0] ^= 1; }).empty());
  EXPECT_FALSE(
      faults_after([](Result& r) { first(r, Kind::Refutation).certificate.kind = Kind::None; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) {
                 for (Claim& claim : r.claims) claim.rounds += claim.rounds == kNoSchedule ? 0 : 5;
               }).empty());
}

TEST(CheckResult, FindsMissingClaims) {
  for (std::size_t i = 0; i < sound().claims.size(); ++i) {
    Result result = sound();
    result.claims.erase(result.claims.begin() + static_cast<long>(i));
    Result again = result;
    finish_result(again);
    // Either the claim was not needed, or what needed it is no longer believed.
    if (!again.complete) {
      EXPECT_FALSE(check_result(result, "", {}).faults.empty()) << "claim " << i;
    }
  }
  EXPECT_FALSE(faults_after([](Result& r) { r.claims.clear(); }).empty());
}

// A claim of this many chunks that its collective would not fit was refused without a word of where it
// stands.
TEST(CheckResult, NamesTheClaimThatIsTooLarge) {
  const int last = static_cast<int>(std::ssize(sound().claims)) - 1;
  const std::vector<Fault> faults = faults_after([&](Result& r) { r.claims[last].chunks = 1'000'000'000; });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].place, FaultPlace{.claim = last});
  EXPECT_THAT(faults[0].words, testing::StartsWith("claims[" + std::to_string(last) +
                                                   "]: collective broadcast: 1000000000 chunks per block"));
}

// How much is looked at grows as the file does: with a collective made again for each claim, every point
// compared with every other, and every claim looked up for every number of steps, this one took minutes, and
// larger ones hours.
TEST(CheckResult, ManyClaimsAndPoints) {
  Result result{.topology = named_topology("full:64"), .collective = make_collective("alltoall", 64, 1)};
  result.space = {.min_chunks = 1, .max_chunks = 20, .max_steps = 5000};
  result.stopped = Stopped::Interrupted;
  for (int i = 0; i < 10'000; ++i)
    result.claims.push_back(
        {.collective = CollectiveKind::Alltoall, .chunks = 1 + i % 4, .steps = i / 2, .rounds = 0});
  const CheckReport report = check_result(result, "", {});
  EXPECT_EQ(report.bounds, 10'000);
  EXPECT_THAT(report.faults,
              testing::ElementsAre(test::says(Fault::Kind::Statement,
                                              "openings: are not those that points and claims leave")));
}

// Each split of a long schedule into a ReduceScatter and an Allgather was verified: hours for this one.
TEST(CheckResult, LongCompositions) {
  Result result = search_frontier(named_topology("ring:4"), make_collective("allreduce", 4, 1),
                                  {.min_chunks = 1, .max_chunks = 1});
  const auto composed = std::find_if(result.points.begin(), result.points.end(),
                                     [](const Point& p) { return p.method == Method::Composed; });
  ASSERT_NE(composed, result.points.end());
  const auto method_faults = [&result] {
    std::vector<Fault> faults = check_result(result, "", {}).faults;
    std::erase_if(faults, [](const Fault& f) { return f.words.find("method") == std::string::npos; });
    return faults;
  };
  EXPECT_TRUE(method_faults().empty());
  // Steps without sends, before, between and after: it is still one after the other.
  std::vector<Step>& steps = composed->schedule.steps;
  const std::size_t whole = steps.size();
  const int border = composed->reduce_scatter_steps;
  for (std::size_t at = 0; at <= whole; ++at) {
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at * 11), 10, Step{.rounds = 1});
    if (std::cmp_less(at * 11, composed->reduce_scatter_steps)) composed->reduce_scatter_steps += 10;
    EXPECT_TRUE(method_faults().empty()) << at;
  }
  steps.insert(steps.begin(), 100'000, Step{.rounds = 1});
  composed->reduce_scatter_steps += 100'000;
  EXPECT_TRUE(method_faults().empty());
  // The last sends of the ReduceScatter and the first of the Allgather in another order: no longer.
  std::erase_if(steps, [](const Step& s) { return s.sends.empty(); });
  ASSERT_EQ(steps.size(), whole);
  // Where the Allgather begins is stated, and checked: a step earlier or later is wrong, and so is any other
  // place.
  composed->reduce_scatter_steps = border;
  EXPECT_TRUE(method_faults().empty());
  for (const int other :
       {border - 1, border + 1, 0, static_cast<int>(whole), -1, static_cast<int>(whole) + 1}) {
    composed->reduce_scatter_steps = other;
    EXPECT_FALSE(method_faults().empty()) << other;
  }
  composed->reduce_scatter_steps = border;
  std::swap(steps.front(), steps.back());
  EXPECT_FALSE(method_faults().empty());
}

// Steps that are split are counted on their side of the border: both phases are still what they were.
TEST(CheckResult, TheBorderMovesWithStepsThatAreSplit) {
  const Topology machine = named_topology("dgx1");
  const Result result =
      search_frontier(machine, make_collective("allreduce", 8, 1),
                      {.min_chunks = 12, .max_chunks = 12, .synthesis = {.limits = {.conflicts = 0}}});
  int moved = 0;
  for (const Point& point : result.points) {
    if (point.method != Method::Composed) continue;
    for (int extra = 0; extra < 4; ++extra) {
      Point split = point;
      if (!fit_in_more_steps(machine, split, extra)) continue;
      moved += split.reduce_scatter_steps != point.reduce_scatter_steps;
      for (const Phase& phase : phases(split))
        EXPECT_EQ(violations(machine, phase.collective, phase.schedule), std::vector<Fault>{}) << extra;
    }
  }
  EXPECT_GT(moved, 0);
}

TEST(CheckResult, FindsFalseMarks) {
  EXPECT_FALSE(faults_after([](Result& r) { r.points[0].on_frontier = !r.points[0].on_frontier; }).empty());
  EXPECT_FALSE(
      faults_after([](Result& r) { ++r.space.max_chunks; }).empty());  // nothing is known of 4 chunks
  EXPECT_FALSE(faults_after([](Result& r) { r.points.back().proven = false; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.claims.clear(); }).empty());
}

// A false "complete" is decided from the claims, whatever else the file states.
TEST(CheckResult, FindsWhatIsNotComplete) {
  // A point of the frontier removed; all of them; the claims too; stopped, and yet complete.
  EXPECT_FALSE(faults_after([](Result& r) { r.points.erase(r.points.begin()); }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.points.clear(); }).empty());
  EXPECT_FALSE(faults_after([](Result& r) {
                 r.points.clear();
                 r.claims.clear();
               }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.stopped = Stopped::TimeLimit; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.complete = false; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.openings.push_back({.steps = 1, .bound = {1, 1}}); }).empty());
}

TEST(CheckResult, FindsPointsOutsideOfTheSpace) {
  const Cost last = sound().points.back().cost;
  EXPECT_FALSE(faults_after([&](Result& r) { r.space.max_steps = last.steps - 1; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { r.space.max_rounds = last.rounds - 1; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { r.space.extra_rounds = 0; }).empty());
  EXPECT_FALSE(faults_after([&](Result& r) { r.space.min_chunks = r.space.max_chunks = 4; }).empty());
}

TEST(CheckResult, FindsFalseMethodsAndBounds) {
  for (const Method method : {Method::Dual, Method::Gathered, Method::Composed, Method::RingAllgather})
    EXPECT_FALSE(faults_after([&](Result& r) { r.points[0].method = method; }).empty()) << name_of(method);
  EXPECT_FALSE(faults_after([](Result& r) { ++r.points[0].bound.rounds; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { r.kind = ResultKind::Algorithm; }).empty());
}

// Sums with several destinations need more steps than hops, and a refutation of one chunk shows it.
TEST(CheckResult, FindsFalseRefutationsOfAnyRounds) {
  const Result result =
      search_synthesis(named_topology("ring:5"), make_collective("allreduce", 5, 1), {.steps = 2}, {}).result;
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(check_result(result, "", {}).faults, std::vector<Fault>{});
  const auto any_rounds = [](Result& r) -> Claim& {
    for (Claim& claim : r.claims)
      if (claim.certificate.kind == Certificate::Kind::Refutation && claim.rounds == kNoSchedule)
        return claim;
    throw std::logic_error("there is no such claim");
  };
  Result more = result;
  ++any_rounds(more).steps;
  EXPECT_FALSE(check_result(more, "", {}).faults.empty());
  Result other = result;
  any_rounds(other).certificate.chunk = 1;
  EXPECT_FALSE(check_result(other, "", {}).faults.empty());
}

// What a search states whose formula is wrong: a false claim, and the formula's name.
Result refuted_by(const RefutedFormula& formula, const Topology& topology, const Collective& asked, int steps,
                  int rounds) {
  Result result{.topology = topology, .collective = asked};
  result.claims = {{.collective = asked.kind, .steps = steps, .rounds = rounds}};
  Certificate& certificate = result.claims[0].certificate;
  certificate.kind = Certificate::Kind::Refutation;
  certificate.formula_sha256 = sha256_hex(to_dimacs(formula(topology, asked, result.claims[0])));
  result.stopped = Stopped::Interrupted;
  finish_result(result);
  return result;
}

// A proof that the formula has no model is right, and the claim is wrong: who asks the search's formula alone
// does not notice, the plain formula names a schedule.
void expect_noticed(const RefutedFormula& formula, const Topology& topology, const Collective& asked,
                    int steps, int rounds) {
  const Result result = refuted_by(formula, topology, asked, steps, rounds);
  const CheckReport blind = check_result(result, "", {}, {}, {.conflicts = 0}, formula);
  EXPECT_EQ(blind.faults, std::vector<Fault>{});
  EXPECT_EQ(blind.refutations, 1);
  EXPECT_EQ(blind.plain, 0);
  const CheckReport report = check_result(result, "", {}, {}, {}, formula);
  EXPECT_THAT(report.faults,
              testing::ElementsAre(testing::AllOf(test::is(Fault::Kind::Claim, {.claim = 0}),
                                                  test::says(Fault::Kind::Claim, "there is a schedule of"))));
  EXPECT_EQ(report.refutations, 0);
}

// Pruned too much, as a wrong distance would: nothing goes over link 0. Two rounds are enough on the whole
// ring; on what is left of it, three chunks come to rank 1 over one link.
TEST(CheckResult, NoticesAFormulaThatForgetsALink) {
  expect_noticed(
      [](const Topology& topology, const Collective& collective, const Claim& claim) {
        Topology less = topology;
        less.links.erase(less.links.begin());
        return formula_of_the_search(less, collective, claim);
      },
      named_topology("ring:4"), make_collective("allgather", 4, 1), 3, 3);
}

// Turned into its dual, but on the machine as it is: nothing comes from the root of a Reduce.
TEST(CheckResult, NoticesAFormulaThatDoesNotReverseTheMachine) {
  Topology line{.name = "one way", .ranks = 4};
  for (Rank n = 0; n < 3; ++n) line.links.push_back({.src = n, .dst = n + 1});
  expect_noticed([](const Topology& topology, const Collective& collective,
                    const Claim& claim) { return formula_of_the_search(topology, dual(collective), claim); },
                 line, make_collective("reduce", 4, 1, 3), 3, 4);
}

// One round too few.
TEST(CheckResult, NoticesAFormulaOfAnotherBudget) {
  expect_noticed(
      [](const Topology& topology, const Collective& collective, Claim claim) {
        --claim.rounds;
        return formula_of_the_search(topology, collective, claim);
      },
      named_topology("ring:4"), make_collective("allgather", 4, 1), 2, 3);
}

TEST(CheckReport, InJson) {
  const CheckReport report{.faults = {{.kind = Fault::Kind::CountedTwice,
                                       .place = {.rank = 1, .chunk = 0, .point = 2},
                                       .words = "points[2]: \"twice\""}},
                           .schedules = 3,
                           .bounds = 4,
                           .refutations = 7,
                           .plain = 5,
                           .undecided = 6};
  EXPECT_EQ(nlohmann::json::parse(to_json(report)), nlohmann::json::parse(R"({
    "schedules": 3, "bounds": 4,
    "refutations": {"by_the_plain_formula": 5, "by_the_searchs_formula": 2, "undecided": 6},
    "faults": [{"kind": "counted twice", "place": {"point": 2, "rank": 1, "chunk": 0},
                "words": "points[2]: \"twice\""}]})"));
}

// A refutation needs its solver; without one it is undecided, never accepted.
TEST(CheckResult, LeavesUndecidedWhatItCannotRedo) {
  const CheckReport report = check_result(sound(), "", {.conflicts = 0});
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(report.refutations + report.undecided, check_result(sound(), "", {}).refutations);
}

}  // namespace
}  // namespace chorale
