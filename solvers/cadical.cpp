// The adapter to CaDiCaL 1.5 (Biere et al.). It keeps what it learnt from one call of solve to the next, so
// an encoding asks budget after budget of one solver; a limit on conflicts and assumptions are of one call.
// Nothing else in the tree includes CaDiCaL.
#include <algorithm>
#include <cadical.hpp>
#include <climits>
#include <cstdio>
#include <stdexcept>

#include "solvers/sat_solver.h"

namespace chorale {
namespace {

class Cadical final : public SatSolver, private CaDiCaL::Terminator, private CaDiCaL::Learner {
 public:
  Cadical(int seed, std::FILE* proof) {
    solver_.set("quiet", 1);
    solver_.set("seed", seed);
    // Before the first clause: later, CaDiCaL takes no proof file.
    if (proof != nullptr) {
      solver_.set("binary", 0);
      if (!solver_.trace_proof(proof, "proof")) throw std::runtime_error("CaDiCaL takes no proof file");
    }
    solver_.connect_terminator(this);
    solver_.connect_learner(this);
  }
  ~Cadical() override {
    solver_.disconnect_learner();
    solver_.disconnect_terminator();
  }

  std::string name() const override { return "cadical"; }

  using SatSolver::add;
  void add(std::span<const Lit> clause) override {
    for (Lit lit : clause) solver_.add(lit);
    solver_.add(0);
  }

  Verdict solve(std::span<const Lit> assumptions, const SolveLimits& limits) override {
    for (Lit lit : assumptions) solver_.assume(lit);
    if (limits.conflicts >= 0)
      solver_.limit("conflicts", static_cast<int>(std::min<std::int64_t>(limits.conflicts, INT_MAX)));
    stop_ = limits.stop;
    timed_ = limits.time.count() >= 0;
    deadline_ = std::chrono::steady_clock::now() + (timed_ ? limits.time : std::chrono::milliseconds(0));
    const int answer = solver_.solve();
    return answer == 10 ? Verdict::Sat : answer == 20 ? Verdict::Unsat : Verdict::Unknown;
  }

  // val() is not const in CaDiCaL, though it changes nothing that can be seen.
  bool value(Lit variable) const override { return const_cast<CaDiCaL::Solver&>(solver_).val(variable) > 0; }

  std::int64_t conflicts() const override { return conflicts_; }

 private:
  // CaDiCaL asks this often, from the thread that solves: time and Ctrl-C need no other one.
  bool terminate() override {
    return (stop_ != nullptr && *stop_) || (timed_ && std::chrono::steady_clock::now() >= deadline_);
  }

  // Called once for each clause learnt, that is, for each conflict: this version has no other way to count
  // them.
  bool learning(int) override {
    ++conflicts_;
    return false;
  }
  void learn(int) override {}

  CaDiCaL::Solver solver_;
  std::int64_t conflicts_ = 0;               // of all calls
  const std::atomic<bool>* stop_ = nullptr;  // this and what follows: of the call that is solving
  bool timed_ = false;
  std::chrono::steady_clock::time_point deadline_ = {};
};

}  // namespace

std::unique_ptr<SatSolver> make_cadical(int seed, std::FILE* proof, const std::string&) {
  return std::make_unique<Cadical>(seed, proof);
}

}  // namespace chorale
