// Linear programs shrunk by their own symmetry.
//
// Two variables (or constraints) get the same colour if they meet equally coloured ones with equal
// coefficients equally often. Some optimal solution, primal and dual, is constant on the colours of such a
// stable colouring, so the program with one variable and one constraint per colour has the same optimum
// (Grohe, Kersting, Mladenov, Selman: Dimension Reduction via Colour Refinement, 2014). It respects every
// automorphism without searching for any: the flow program of Alltoall on an 8x8 torus shrinks from 16,000
// variables to a few dozen.
//
// Colours are 64-bit hashes. A collision could give a wrong optimum, never a wrong bound: certificates are
// checked.
#pragma once

#include <cstdint>
#include <vector>

#include "bounds/clp.h"

namespace chorale {

struct Colouring {
  std::vector<int> rows = {};     // colour of each row, 0 .. row_colours-1
  std::vector<int> columns = {};  // of each column
  int row_colours = 0;
  int column_colours = 0;
  std::uint64_t signature = 0;  // equal for programs that differ only in the order of rows and columns
};

Colouring refine_colours(const LinearProgram&);

// Returns the optimum and its duals, found on the program with one row and one column a colour.
LpSolution solve_by_colours(const LinearProgram&, const Colouring&, int iterations);

}  // namespace chorale
