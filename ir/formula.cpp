// One vector for all literals: a clause is no object of its own, so a formula of millions takes four bytes a
// literal and is handed to a solver in one walk.
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
