// Literals that are true or false before the solver says anything: an encoding writes its constraints as if
// each thing had a variable, and what is known beforehand falls out of the clauses.
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
