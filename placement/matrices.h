// All parallelism matrices of a hierarchy and axes (P^2, equations 1 and 2), by two independent methods that
// must agree.
#pragma once

#include <vector>

#include "ir/placement.h"
#include "solvers/sat_solver.h"

namespace chorale {

// Throws InputError where the axes do not multiply to the number of devices.
void require_fitting_axes(const Hierarchy&, const std::vector<Axis>&);

// The matrix with every order in which the axes that split a level can vary inside of it, at each of these
// levels; the order of the numbers of axes first.
std::vector<ParallelismMatrix> in_all_orders(const ParallelismMatrix&, const std::vector<bool>& levels);

bool obeys(const ParallelismMatrix&, const Conditions&);

// Sorted. By enumeration, level by level.
std::vector<ParallelismMatrix> all_matrices(const Hierarchy&, const std::vector<Axis>&,
                                            const Conditions& = {});

struct SolvedMatrices {
  std::vector<ParallelismMatrix> matrices = {};  // sorted
  bool complete = false;                         // no limit ended the work: the solver has refuted any other
  long long calls = 0;
};

// The same set by a SAT solver over the prime factors (encoder/matrix_encoding.h).
SolvedMatrices solve_matrices(const Hierarchy&, const std::vector<Axis>&, const Conditions&, SatSolver&,
                              const SolveLimits& = {});

}  // namespace chorale
