// The table of SAT solvers. An adapter is one file of this room, or of a plugin where its library is large;
// it defines a Maker, and has its row here. Libraries with the functions of IPASIR need no adapter of their
// own.
#include "solvers/sat_solver.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace chorale {

using Maker = std::unique_ptr<SatSolver>(int seed, std::FILE* proof, const std::string& library);

Maker make_cadical;  // cadical.cpp
Maker make_ipasir;   // ipasir.cpp
Maker make_z3_sat;   // plugins/z3.cpp

namespace {

struct Row {
  Solver solver = Solver::Cadical;
  Maker* make = nullptr;
  bool writes_proofs = false;  // as DRAT text
};

constexpr Row kRows[] = {{Solver::Cadical, make_cadical, true},
                         {Solver::Z3, make_z3_sat, false},
                         {Solver::Ipasir, make_ipasir, false}};

const Row& row_of(Solver solver) {
  const Row* const row = std::ranges::find(kRows, solver, &Row::solver);
  if (row == std::end(kRows)) throw std::logic_error("a solver has no adapter");
  return *row;
}

}  // namespace

std::unique_ptr<SatSolver> make_solver(Solver solver, int seed, std::FILE* proof,
                                       const std::string& library) {
  if (proof != nullptr && !writes_proofs(solver)) throw std::logic_error("a solver that writes no proofs");
  return row_of(solver).make(seed, proof, library);
}

bool writes_proofs(Solver solver) {
  return row_of(solver).writes_proofs;
}

// A formula is one list of literals in which a 0 ends a clause. A caller that extends it passes the position
// from which it grew.
void SatSolver::add(const Formula& formula, std::size_t from_literal) {
  const auto begin = formula.literals.begin();
  for (std::size_t at = from_literal; at < formula.literals.size();) {
    const auto end = std::find(begin + static_cast<std::ptrdiff_t>(at), formula.literals.end(), 0);
    const std::size_t length = static_cast<std::size_t>(end - begin) - at;
    add(std::span<const Lit>(formula.literals).subspan(at, length));
    at += length + 1;
  }
}

// By variable, from 1 on; entry 0 is of none.
Assignment SatSolver::model(int variables) const {
  Assignment model(variables + 1);
  for (int v = 1; v <= variables; ++v) model[v] = value(v);
  return model;
}

}  // namespace chorale
