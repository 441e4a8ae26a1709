// Linear programs shrunk by their own symmetry; and colours of ranks, links and limits of a machine.
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
#include "ir/topology.h"

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

// A stable colouring of a machine, in which two ranks of a colour have equally many links of each colour.
// Ranks that an automorphism maps to each other have one colour; on regular machines so do others: a hint for
// a search, never a proof.
struct MachineColours {
  std::vector<int> rank = {};  // colour of each, from 0
  std::vector<int> link = {};
  std::vector<int> limit = {};
  int ranks = 0;  // colours
  int links = 0;
  int limits = 0;
};

// Ranks of different `tags` have different colours.
MachineColours machine_colours(const Topology&, const std::vector<std::int64_t>& tags);

// Shared limits as ports: each over links that leave one rank, or over links that enter one. Then a limit is
// the capacity of a node in a flow network.

// The limit of the links' tails and heads that each link is under, -1 if none.
struct Ports {
  bool possible = true;  // every limit is a port, and no link is under two of one side
  std::vector<int> out = {};
  std::vector<int> in = {};
};

Ports ports_of(const Topology&);
bool limits_are_ports(const Topology&);

}  // namespace chorale
