// A result is believed only as far as its check goes: every change that makes it say something else is found.
#include "pareto/check.h"

#include <gtest/gtest.h>

#include <functional>

#include "pareto/search.h"
#include "topology/builders.h"

namespace chorale {
namespace {

const Result& sound() {
  static const Result result = search_frontier(named_topology("ring:4"), make_collective("broadcast", 4, 1),
                                               {.min_chunks = 3, .max_chunks = 4});
  return result;
}

std::vector<std::string> faults_after(const std::function<void(Result&)>& change) {
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

TEST(CheckResult, FindsFalseMarks) {
  EXPECT_FALSE(faults_after([](Result& r) { r.points[0].on_frontier = !r.points[0].on_frontier; }).empty());
  EXPECT_FALSE(faults_after([](Result& r) { ++r.max_chunks; }).empty());  // nothing is known of 5 chunks
  EXPECT_FALSE(faults_after([](Result& r) { r.points.back().proven = false; }).empty() &&
               faults_after([](Result& r) {
                 r.points.back().proven = true;
                 r.claims.clear();
               }).empty());
}

// A refutation needs its solver; without one it is undecided, never accepted.
TEST(CheckResult, LeavesUndecidedWhatItCannotRedo) {
  const CheckReport report = check_result(sound(), "", {.conflicts = 0});
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(report.refutations + report.undecided, check_result(sound(), "", {}).refutations);
}

}  // namespace
}  // namespace chorale
