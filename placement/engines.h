// All reduction strategies of a model by a solver: a formula in CaDiCaL, or bit vectors in Z3. The encodings
// share the names of instructions with the exploration by the verifier's rules (strategy_space.h), and
// nothing else.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "placement/strategy_space.h"
#include "solvers/sat_solver.h"

namespace chorale {

struct StrategySet {
  // of at most the given number of instructions; by length, then lexicographically
  std::vector<Strategy> strategies = {};
  bool complete = false;  // no limit ended the work
  // Shown to be all there are: the solver has refuted that there is any longer sequence of valid
  // instructions, wherever it leads. False proves nothing.
  bool nothing_longer = false;
  long long calls = 0, conflicts = 0;
};

// levels >= 1, each of size 2; with instructions of these groupings alone (their operations do not count;
// none: of all). The solver of PlaceEngine::Sat or Smt (with Sat, this SAT solver) is asked length by length;
// what it finds is blocked and it is asked again, until it refutes that there is more. Under Rules::Paper a
// detour is blocked with everything that begins like it.
StrategySet find_strategies(int levels, Rules, int most_instructions, PlaceEngine, const SolveLimits& = {},
                            const std::vector<StrategyInstruction>& groupings = {}, Solver = Solver::Cadical,
                            const std::string& ipasir = "");

// What a ranking asks of a solver: each set of strategies once, and the matrices. Priced on the space of the
// same levels, which has every strategy; one that it had not would be a bug, and stops the program.
class StrategySolver {
 public:
  // Of options: the engine, a solver's; the rules, and the limits.
  explicit StrategySolver(const PlaceOptions& options) : options_(options) {}

  // The strategies of at most kMostCounted instructions over the space's levels, with their charges on it.
  const std::vector<PricedStrategy>& strategies(const StrategySpace&,
                                                const std::vector<StrategyInstruction>& groupings);
  std::vector<ParallelismMatrix> matrices(const Hierarchy&, const std::vector<Axis>&, const Conditions&);

  // Of all that was asked so far. It is complete before the first question.
  const SolverReport& report() const { return report_; }

 private:
  const PlaceOptions options_;
  SolverReport report_{.complete = true};
  std::map<std::pair<int, std::vector<StrategyInstruction>>, std::vector<PricedStrategy>> found_ = {};
};

}  // namespace chorale
