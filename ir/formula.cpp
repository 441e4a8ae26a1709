// One vector for all literals: a clause is not a separate object, so a formula of millions of literals takes
// four bytes per literal and is passed to a solver in one pass.
#include "ir/formula.h"

#include <cassert>
#include <cstdlib>

namespace chorale {

void Formula::add(std::span<const Lit> clause) {
  for (Lit lit : clause) {
    assert(lit != 0 && std::abs(lit) <= variables);
    literals.push_back(lit);
  }
  literals.push_back(0);
  ++clauses;
}

// DIMACS CNF: "p cnf VARIABLES CLAUSES", then the literals of a clause and 0, a line each. Proofs and
// certificates name a formula by the SHA-256 of this text, so its whitespace and its order matter.
std::string to_dimacs(const Formula& formula) {
  std::string text =
      "p cnf " + std::to_string(formula.variables) + " " + std::to_string(formula.clauses) + "\n";
  for (Lit lit : formula.literals) {
    text += std::to_string(lit);
    text += lit == 0 ? '\n' : ' ';
  }
  return text;
}

}  // namespace chorale
