// Literals that are true or false before the solver starts: an encoding writes its constraints as if each
// fact had a variable, and known facts are eliminated from the clauses.
#pragma once

#include <limits>
#include <vector>

#include "ir/formula.h"

namespace chorale {

inline constexpr Lit kTrue = std::numeric_limits<Lit>::max();
inline constexpr Lit kFalse = -kTrue;

// Without its kFalse literals; not at all where one is kTrue.
void add_unknown_of(std::vector<Lit> clause, Formula&);

}  // namespace chorale
