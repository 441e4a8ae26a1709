// -kTrue is kFalse, so a negated literal is known just as the literal is. A clause of which all literals were
// false stays, as the empty one: the formula is then refuted, as it has to be.
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
