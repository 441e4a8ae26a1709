// One interface to SAT solvers, one adapter a solver (cadical.cpp), one table of them (sat_solver.cpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "ir/formula.h"
#include "ir/instance.h"
#include "ir/search_options.h"

namespace chorale {

class SatSolver {
 public:
  virtual ~SatSolver() = default;
  virtual std::string name() const = 0;
  virtual void add(std::span<const Lit> clause) = 0;
  void add(const Formula&, std::size_t from_literal = 0);  // all clauses from that position of `literals` on
  // Answers under assumptions, which hold for this call only.
  virtual Verdict solve(std::span<const Lit> assumptions, const SolveLimits&) = 0;
  virtual bool value(Lit variable) const = 0;  // after Sat
  Assignment model(int variables) const;       // of the first `variables` variables, after Sat
  virtual std::int64_t conflicts() const = 0;  // so far
};

// proof: where to write a DRAT proof (binary is false: text), null for none; the caller's. With a proof,
// solve only once and without assumptions; it is complete when the solver is destroyed. Only of a solver that
// writes them. `library`: the file of Solver::Ipasir; "": the one that was named when this was built. Throws
// InputError where a plugin or that library is missing.
std::unique_ptr<SatSolver> make_solver(Solver = Solver::Cadical, int seed = 0, std::FILE* proof = nullptr,
                                       const std::string& library = "");
bool writes_proofs(Solver);

}  // namespace chorale
