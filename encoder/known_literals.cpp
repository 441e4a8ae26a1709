#include "encoder/known_literals.h"

namespace chorale {

void add_unknown_of(std::vector<Lit> clause, Formula& formula) {
  std::size_t kept = 0;
  for (Lit lit : clause) {
    if (lit == kTrue) return;
    if (lit != kFalse) clause[kept++] = lit;
  }
  clause.resize(kept);
  formula.add(clause);
}

}  // namespace chorale
