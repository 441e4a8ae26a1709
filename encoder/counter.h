// Counting in CNF. One direction only: true inputs force outputs, which is all that an upper bound needs.
#pragma once

#include <span>
#include <vector>

#include "ir/formula.h"

namespace chorale {

enum class Counter {
  Totalizer,   // Bailleux and Boufkhad 2003: a balanced tree of unary adders
  Sequential,  // Sinz 2005: one input after the other
};

// Literals o with: if at least k+1 inputs are true then o[k] is, for k+1 <= cap; o[k+1] -> o[k] is not
// asserted. At most cap outputs; fewer where there are fewer inputs. Inputs may repeat and then count more
// than once.
std::vector<Lit> count(Formula&, std::span<const Lit> inputs, int cap, Counter = Counter::Totalizer);

// Returns the sum of two unary numbers (a[k]: "at least k+1"), cut off at cap.
std::vector<Lit> add_unary(Formula&, std::span<const Lit> a, std::span<const Lit> b, int cap);

// A literal that is implied by each of them; the literal itself, if there is only one.
Lit any_of(Formula&, std::span<const Lit> literals);

// Adds clauses for at most one: pairwise up to six literals, beyond that in groups of four with a commander
// each (Klieber and Kwon 2007).
void at_most_one(Formula&, std::span<const Lit> literals);

}  // namespace chorale
