// Refutations that a checker has accepted.
#pragma once

#include <string>

#include "ir/formula.h"
#include "solvers/sat_solver.h"

namespace chorale {

// Does the DRAT text derive the empty clause from the formula? Every lemma must follow by unit propagation
// (RUP); CaDiCaL's do, so a lemma that needs the full RAT rule is refused. Empty if accepted, else what is
// wrong (line, lemma). Independent of the solver; forward check with watched literals, deletions honoured
// (unit deletions ignored, as drat-trim does). With `lrat`, an accepted proof is put there as LRAT text
// (LratRecord), reduced to what the empty clause needs.
std::string proof_fault(const Formula&, const std::string& drat_text, const std::atomic<bool>* stop = nullptr,
                        std::string* lrat = nullptr);

std::string sha256_hex(std::string_view bytes);

struct Refutation {
  Verdict verdict = Verdict::Unknown;  // Unsat only with a proof that proof_fault accepted
  Assignment model = {};               // if Sat
  std::string formula_sha256 = {};     // of to_dimacs(formula)
  std::string proof = {};              // the DRAT text
  std::string lrat = {};               // the same as LRAT text, if asked for
  std::int64_t conflicts = 0;
};

// Solves afresh with a proof and checks the proof; by CaDiCaL where the solver writes none.
Refutation solve_with_proof(const Formula&, const SolveLimits&, int seed = 0, bool lrat = false,
                            Solver = Solver::Cadical);

}  // namespace chorale
