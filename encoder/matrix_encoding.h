// Parallelism matrices as a formula: products become sums of the exponents of their prime factors.
//
// Variables: more(p,i,j,v), the exponent of prime p in the factor of axis i at level j is at least v.
//   (unary)    more(v+1) -> more(v)
//   (columns)  over the axes, the exponents of p add up to that in the level's fan-out
//   (rows)     over the levels, to that in the axis
//   (inside)   no more(p,i,j,1) at the level and further out
//   (order)    not both more(p,inner,j,1) and more(q,outer,k,1) where level k lies inside of level j
// Conditions on memory are products, not sums: the caller adds clauses from no_larger_inside.
#pragma once

#include <functional>
#include <vector>

#include "ir/formula.h"
#include "ir/placement.h"

namespace chorale {

class MatrixEncoding {
 public:
  MatrixEncoding(const Hierarchy&, const std::vector<Axis>&, const Conditions&);
  const Formula& formula() const { return formula_; }
  ParallelismMatrix decode(const std::function<bool(Lit)>& value) const;
  // Returns a clause for any matrix but this one.
  std::vector<Lit> another(const ParallelismMatrix&) const;
  // Of these axes, some factor inside of the level is not a multiple of this matrix's.
  std::vector<Lit> no_larger_inside(const ParallelismMatrix&, const std::vector<int>& axes, int level) const;

 private:
  // v >= 1; requires that some factor there can have this exponent.
  Lit more(int prime, int axis, int level, int v) const;
  int most(int prime, int axis, int level) const;
  void sums_to(const std::vector<Lit>& bits, int sum);

  std::vector<int> primes_ = {};
  std::vector<std::vector<int>> axis_exponents_ = {}, level_exponents_ = {};  // [prime][axis], [prime][level]
  std::vector<Lit> first_ = {};  // [prime][axis][level]: the variable of v = 1
  int axes_ = 0, levels_ = 0;
  Formula formula_ = {};
};

}  // namespace chorale
