#include "pareto/check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "bounds/check.h"
#include "ir/error.h"
#include "ir/json.h"
#include "pareto/instance_solver.h"
#include "pareto/optimality.h"
#include "semantics/verify.h"
#include "solvers/proof.h"

namespace chorale {
namespace {

class Checker {
 public:
  Checker(const Result& result, const std::string& proof_dir, const SolveLimits& limits)
      : result_(result), proof_dir_(proof_dir), limits_(limits) {}

  CheckReport run() {
    for (std::size_t i = 0; i < result_.points.size(); ++i)
      check_point(result_.points[i], "points[" + std::to_string(i) + "]");
    for (std::size_t i = 0; i < result_.claims.size(); ++i)
      check_claim(result_.claims[i], "claims[" + std::to_string(i) + "]");
    check_optimality();
    return std::move(report_);
  }

 private:
  void fail(const std::string& where, const std::string& what) {
    report_.faults.push_back(where + ": " + what);
  }

  Collective named(const std::string& name, int chunks) const {
    const Collective& asked = result_.collective;
    if (asked.custom && name == asked.name)
      return chunks == asked.chunks_per_block ? asked : refined(asked, chunks);
    return make_collective(name, result_.topology.ranks, chunks, asked.root);
  }

  // The schedule does what the point's collective says, that is what was asked for, and its cost is as
  // stated.
  void check_point(const Point& point, const std::string& where) {
    for (const std::string& wrong : violations(result_.topology, point.collective, point.schedule))
      fail(where, wrong);
    for (const std::string& wrong :
         differences(named(result_.collective.name, point.cost.chunks), point.collective))
      fail(where, wrong);
    const Cost cost = {.steps = static_cast<int>(point.schedule.steps.size()),
                       .rounds = total_rounds(point.schedule),
                       .chunks = point.cost.chunks};
    if (cost != point.cost)
      fail(where, "states " + std::to_string(point.cost.steps) + " steps and " +
                      std::to_string(point.cost.rounds) + " rounds, its schedule has " +
                      std::to_string(cost.steps) + " and " + std::to_string(cost.rounds));
    ++report_.schedules;
  }

  void check_claim(const Claim& claim, const std::string& where) {
    const Collective collective = named(claim.collective, claim.chunks);
    if (claim.certificate.kind == Certificate::Kind::Refutation)
      return check_refutation(claim, collective, where);
    const std::string wrong = fault(result_.topology, collective, claim);
    if (!wrong.empty()) return fail(where, wrong);
    ++report_.bounds;
  }

  void check_refutation(const Claim& claim, const Collective& collective, const std::string& where) {
    if (claim.steps == kAnySteps || claim.rounds == kNoSchedule || claim.rounds < 2 || claim.steps < 1)
      return fail(where, "a refutation is of a number of steps and rounds");
    const Formula formula =
        refutable_formula(result_.topology, collective, {.steps = claim.steps, .rounds = claim.rounds - 1});
    if (sha256_hex(to_dimacs(formula)) != claim.certificate.formula_sha256)
      return fail(where,
                  "the formula of this claim has another SHA-256 than " + claim.certificate.formula_sha256);
    if (const std::optional<std::string> proof = kept_proof(claim.certificate.proof_sha256)) {
      if (sha256_hex(*proof) != claim.certificate.proof_sha256)
        return fail(where, "the kept proof is not the one with the SHA-256 of its name");
      const std::string wrong = proof_fault(formula, *proof, limits_.stop);
      if (!wrong.empty()) return fail(where, "the proof does not hold: " + wrong);
      ++report_.refutations;
      return;
    }
    switch (solve_with_proof(formula, limits_).verdict) {
      case Verdict::Unsat:
        ++report_.refutations;
        break;
      case Verdict::Sat:
        fail(where, "the formula that it refutes is satisfiable");
        break;
      case Verdict::Unknown:
        ++report_.undecided;
        break;
    }
  }

  // The DRAT text that was kept under that hash, if any.
  std::optional<std::string> kept_proof(const std::string& sha256) const {
    if (proof_dir_.empty()) return std::nullopt;
    const std::filesystem::path path = std::filesystem::path(proof_dir_) / (sha256 + ".drat");
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    return read_file(path.string());
  }

  void check_optimality() {
    Result again = result_;
    mark(again);
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const auto same = std::find_if(again.points.begin(), again.points.end(), [&](const Point& p) {
        return p.cost == result_.points[i].cost && p.method == result_.points[i].method;
      });
      const std::string where = "points[" + std::to_string(i) + "]";
      if (result_.points[i].proven && !same->proven)
        fail(where, "is called proven, but the claims do not show it");
      if (result_.points[i].on_frontier != same->on_frontier)
        fail(where,
             same->on_frontier ? "is on the frontier, but not marked so" : "is dominated by another point");
      if (result_.complete && !same->proven) fail(where, "is not proven, but the result is called complete");
    }
  }

  const Result& result_;
  const std::string& proof_dir_;
  const SolveLimits& limits_;
  CheckReport report_ = {};
};

}  // namespace

CheckReport check_result(const Result& result, const std::string& proof_dir, const SolveLimits& limits) {
  return Checker(result, proof_dir, limits).run();
}

}  // namespace chorale
