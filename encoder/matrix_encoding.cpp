// The idea: the product of the factors of a row is the size of its axis, and of a column the fan-out of its
// level; factored into primes, each of these is a sum of exponents, which CNF can count. Primes do not meet,
// so each is a problem of its own, which only conditions tie together.
//
// Invariant: an exponent is the number of its true literals, in order from the first (unary), so that "at
// least v" is one literal.
//
// Example: axes 4 and 6 on levels of 8 and 3 have for the prime 2 the exponents 2 and 1 in rows, 3 and 0 in
// columns; so level 8 must take all of it, and 3 goes to the second axis on the second level: the one matrix
// has the rows 4 1 and 2 3.
#include "encoder/matrix_encoding.h"

#include <algorithm>

#include "encoder/counter.h"

namespace chorale {
namespace {

int exponent(int number, int prime) {
  int result = 0;
  for (; number % prime == 0; number /= prime) ++result;
  return result;
}

std::vector<int> prime_factors(int number) {
  std::vector<int> primes;
  for (int p = 2; p <= number / p; ++p)
    if (number % p == 0) {
      primes.push_back(p);
      while (number % p == 0) number /= p;
    }
  if (number > 1) primes.push_back(number);
  return primes;
}

}  // namespace

MatrixEncoding::MatrixEncoding(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                               const Conditions& conditions)
    : axes_(static_cast<int>(axes.size())), levels_(static_cast<int>(hierarchy.levels.size())) {
  for (const Level& level : hierarchy.levels)
    for (int p : prime_factors(level.fan_out))
      if (std::find(primes_.begin(), primes_.end(), p) == primes_.end()) primes_.push_back(p);
  std::sort(primes_.begin(), primes_.end());
  const int primes = static_cast<int>(primes_.size());
  for (int p : primes_) {
    axis_exponents_.emplace_back();
    level_exponents_.emplace_back();
    for (const Axis& axis : axes) axis_exponents_.back().push_back(exponent(axis.size, p));
    for (const Level& level : hierarchy.levels) level_exponents_.back().push_back(exponent(level.fan_out, p));
  }
  for (int p = 0; p < primes; ++p)
    for (int i = 0; i < axes_; ++i)
      for (int j = 0; j < levels_; ++j) {
        first_.push_back(formula_.variables + 1);
        for (int v = 1; v <= most(p, i, j); ++v) formula_.fresh();
      }
  // All literals of one exponent; how many are true is its value.
  const auto bits_of = [&](std::vector<Lit>& bits, int p, int i, int j) {
    for (int v = 1; v <= most(p, i, j); ++v) {
      bits.push_back(more(p, i, j, v));
      if (v > 1) formula_.add({-more(p, i, j, v), more(p, i, j, v - 1)});  // (unary)
    }
  };
  for (int p = 0; p < primes; ++p) {
    for (int j = 0; j < levels_; ++j) {  // (columns)
      std::vector<Lit> bits;
      for (int i = 0; i < axes_; ++i) bits_of(bits, p, i, j);
      sums_to(bits, level_exponents_[p][j]);
    }
    for (int i = 0; i < axes_; ++i) {  // (rows)
      std::vector<Lit> bits;
      for (int j = 0; j < levels_; ++j) bits_of(bits, p, i, j);
      sums_to(bits, axis_exponents_[p][i]);
    }
  }
  for (const Conditions::Inside& inside : conditions.inside)
    for (int p = 0; p < primes; ++p)
      for (int j = 0; j <= inside.level; ++j)
        if (most(p, inside.axis, j) > 0) formula_.add({-more(p, inside.axis, j, 1)});
  // Over all pairs of primes: a factor is above 1 if any prime has an exponent in it.
  for (const Conditions::Order& order : conditions.order)
    for (int p = 0; p < primes; ++p)
      for (int q = 0; q < primes; ++q)
        for (int j = 0; j < levels_; ++j)
          for (int k = j + 1; k < levels_; ++k)
            if (most(p, order.inner, j) > 0 && most(q, order.outer, k) > 0)
              formula_.add({-more(p, order.inner, j, 1), -more(q, order.outer, k, 1)});
}

int MatrixEncoding::most(int prime, int axis, int level) const {
  return std::min(axis_exponents_[prime][axis], level_exponents_[prime][level]);
}

Lit MatrixEncoding::more(int prime, int axis, int level, int v) const {
  return first_[(prime * axes_ + axis) * levels_ + level] + v - 1;
}

// At most `sum` are true, and at most the rest false: counters are one-directional (counter.h), so an
// equality is two of them.
void MatrixEncoding::sums_to(const std::vector<Lit>& bits, int sum) {
  const int size = static_cast<int>(bits.size());
  if (size < sum) {
    formula_.add({});  // the axes do not fit
    return;
  }
  std::vector<Lit> falses;
  for (Lit bit : bits) falses.push_back(-bit);
  if (sum < size) formula_.add({-count(formula_, bits, sum + 1)[sum]});
  if (sum > 0) formula_.add({-count(formula_, falses, size - sum + 1)[size - sum]});
}

ParallelismMatrix MatrixEncoding::decode(const std::function<bool(Lit)>& value) const {
  ParallelismMatrix matrix{.factors = std::vector(axes_, std::vector<int>(levels_, 1))};
  for (int p = 0; p < static_cast<int>(primes_.size()); ++p)
    for (int i = 0; i < axes_; ++i)
      for (int j = 0; j < levels_; ++j)
        // Unary: the first false literal ends it.
        for (int v = 1; v <= most(p, i, j) && value(more(p, i, j, v)); ++v)
          matrix.factors[i][j] *= primes_[p];
  return matrix;
}

std::vector<Lit> MatrixEncoding::another(const ParallelismMatrix& matrix) const {
  std::vector<int> all(axes_);
  for (int i = 0; i < axes_; ++i) all[i] = i;
  // The rows and columns are full, so no other matrix has all of these factors at least.
  return no_larger_inside(matrix, all, -1);
}

std::vector<Lit> MatrixEncoding::no_larger_inside(const ParallelismMatrix& matrix,
                                                  const std::vector<int>& axes, int level) const {
  std::vector<Lit> clause;
  for (int p = 0; p < static_cast<int>(primes_.size()); ++p)
    for (int i : axes)
      for (int j = level + 1; j < levels_; ++j)
        if (const int v = exponent(matrix.factors[i][j], primes_[p]); v > 0)
          clause.push_back(-more(p, i, j, v));
  return clause;
}

}  // namespace chorale
