// One instance answered: bounds first, then symmetric schedules, then the full formula. What leaves here is
// verified.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/frontier.h"
#include "ir/instance.h"
#include "solvers/sat_solver.h"

namespace chorale {

enum class Engine {
  Sat,           // our CNF encoding, CaDiCaL
  Smt,           // SCCL's integer encoding, Z3 (Cai et al. 2021)
  SatPartition,  // one CNF for each split of the rounds over the steps (papers: collectives via SAT, 2024)
};

struct SynthesisOptions {
  Engine engine = Engine::Sat;
  SolveLimits limits = {};   // for each question to a solver
  bool use_bounds = true;    // off: let the solver refute what a bound would have refuted
  bool use_symmetry = true;  // off: no symmetric schedules first
  // Keep formulas (DIMACS) and their proofs (DRAT) here, both named by the SHA-256 of the formula; "": check
  // and forget them. Must be there.
  std::string proof_dir = {};
  int seed = 0;
};

struct Answer {
  Verdict verdict = Verdict::Unknown;
  std::optional<Point> point = {};  // Sat: verified
  std::optional<Claim> claim =
      {};                  // Unsat: with a certificate that was checked (engine Sat), or none (other engines)
  bool too_large = false;  // Unknown since no formula of that size is built, whatever the limits
  std::int64_t conflicts = 0;
  double cpu_seconds = 0;
};

// `collective` with its chunks, `budget` as limits from above.
Answer synthesize(const Topology&, const Collective&, const Budget&, const SynthesisOptions& = {});

}  // namespace chorale
