// A unary number is its literals, "at least 1", "at least 2", ...; adding two of them is one clause per pair
// of values: at least i here and at least j there are at least i + j. What is beyond the cap is not
// distinguished: the last output stands for "cap or more".
//
// Measured by benchmarks/counters over 16 questions: a sequential counter takes 1.16 times as long as a
// totalizer in the mean, and has more clauses in every one; it won on dgx1 Allgather (3,7,6) alone by much.
//
// Invariant: if k inputs are true, unit propagation makes the first k outputs true (up to the cap). Nothing
// makes them false, so an output has no meaning where it is not forbidden: enough for an upper bound, and
// about half of the clauses.
#include "encoder/counter.h"

#include <algorithm>

namespace chorale {
namespace {

std::vector<Lit> totalizer(Formula& f, std::span<const Lit> inputs, int cap) {
  if (inputs.size() == 1) return {inputs[0]};
  const std::size_t half = inputs.size() / 2;
  const std::vector<Lit> left = totalizer(f, inputs.first(half), cap);
  const std::vector<Lit> right = totalizer(f, inputs.subspan(half), cap);
  return add_unary(f, left, right, cap);
}

std::vector<Lit> sequential(Formula& f, std::span<const Lit> inputs, int cap) {
  std::vector<Lit> sum = {inputs[0]};
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = add_unary(f, sum, inputs.subspan(i, 1), cap);
  return sum;
}

}  // namespace

std::vector<Lit> add_unary(Formula& f, std::span<const Lit> a, std::span<const Lit> b, int cap) {
  const int na = static_cast<int>(a.size()), nb = static_cast<int>(b.size());
  std::vector<Lit> sum(std::min(cap, na + nb));
  for (Lit& lit : sum) lit = f.fresh();
  const int n = static_cast<int>(sum.size());
  // Pairs beyond the cap are left out: where i and j are reached, so are all fewer, and some of those add up
  // to the cap. The last output is then true, which the caller forbids or maps to its highest bound.
  for (int i = 0; i <= na; ++i)
    for (int j = 0; j <= nb; ++j) {
      if (i + j == 0 || i + j > n) continue;
      const Lit out = sum[i + j - 1];
      if (i == 0)
        f.add({-b[j - 1], out});
      else if (j == 0)
        f.add({-a[i - 1], out});
      else
        f.add({-a[i - 1], -b[j - 1], out});
    }
  return sum;
}

std::vector<Lit> count(Formula& f, std::span<const Lit> inputs, int cap, Counter counter) {
  if (inputs.empty() || cap <= 0) return {};
  return counter == Counter::Totalizer ? totalizer(f, inputs, cap) : sequential(f, inputs, cap);
}

void at_most_one(Formula& f, std::span<const Lit> literals) {
  if (literals.size() <= 6) {
    for (std::size_t i = 0; i < literals.size(); ++i)
      for (std::size_t j = i + 1; j < literals.size(); ++j) f.add({-literals[i], -literals[j]});
    return;
  }
  // A member makes its commander true, so two groups with a true member would have two true commanders. For n
  // literals this is about 10/4 n clauses a level, a quarter of n left for the next, where pairs would be
  // half of n^2.
  std::vector<Lit> commanders;
  for (std::size_t i = 0; i < literals.size(); i += 4) {
    const std::span<const Lit> group = literals.subspan(i, std::min<std::size_t>(4, literals.size() - i));
    at_most_one(f, group);
    commanders.push_back(f.fresh());
    for (Lit lit : group) f.add({-lit, commanders.back()});
  }
  at_most_one(f, commanders);
}

Lit any_of(Formula& formula, std::span<const Lit> literals) {
  if (std::ranges::all_of(literals, [&](Lit lit) { return lit == literals.front(); }))
    return literals.front();
  const Lit any = formula.fresh();
  for (Lit lit : literals) formula.add({-lit, any});
  return any;
}

}  // namespace chorale
