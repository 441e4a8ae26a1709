// All reduction strategies of a model, by engines that share nothing but the groups: exploration by the
// verifier's rules (strategy_space.h), a CNF encoding in CaDiCaL, and bit vectors in Z3.
#pragma once

#include <vector>

#include "placement/strategy_space.h"
#include "solvers/sat_solver.h"

namespace chorale {

enum class StrategyEngine { Enumeration, Sat, Smt };

struct StrategySet {
  // of at most the given number of instructions; by length, then lexicographically
  std::vector<Strategy> strategies = {};
  bool complete = false;  // no limit ended the work
  // Shown to be all there are. By exploration: no longer strategy exists. By a solver: it has refuted that
  // there is any longer sequence of valid instructions, wherever it leads. False proves nothing.
  bool nothing_longer = false;
};

// levels >= 1, each of size 2. Solvers are asked length by length; what they find is blocked and they are
// asked again, until they refute that there is more. Under Rules::Paper a detour is blocked with everything
// that begins like it.
StrategySet find_strategies(int levels, Rules, int most_instructions, StrategyEngine,
                            const SolveLimits& = {});

}  // namespace chorale
