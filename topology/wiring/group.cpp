// Every group here but two is made of smaller ones by one step: an element x is added to a group N that it
// carries to itself. A cyclic group is such an extension of the group of one element, a product with a cyclic
// group one whose x commutes with N. The two that have no such N, A5 and SL(2,5), are products of subgroups
// that meet in the identity alone: each element is one of a subgroup times a power of one more element, which
// gives it digits, too.
#include "topology/wiring/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace chorale {
namespace {

std::vector<int> digits(int element, const std::vector<int>& factors) {
  std::vector<int> all(factors.size());
  for (std::size_t f = factors.size(); f-- > 0; element /= factors[f]) all[f] = element % factors[f];
  return all;
}

// n^2 products: a design has at most 512 ranks (jobs/design.h).
Group with_table(std::string name, std::vector<int> factors, const std::function<int(int, int)>& product) {
  Group group{.name = std::move(name), .factors = std::move(factors)};
  for (const int factor : group.factors) group.order *= factor;
  const int n = group.order;
  group.products.resize(static_cast<std::size_t>(n) * n);
  group.inverses.resize(n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      group.products[a * n + b] = static_cast<std::uint16_t>(product(a, b));
      if (group.products[a * n + b] == 0) group.inverses[a] = static_cast<std::uint16_t>(b);
    }
  return group;
}

// "Z2^2 x Z8"
std::string cyclic_name(const std::vector<int>& factors) {
  std::vector<std::string> names;
  for (std::size_t f = 0, equal = 1; f < factors.size(); f += equal, equal = 1) {
    while (f + equal < factors.size() && factors[f + equal] == factors[f]) ++equal;
    names.push_back(fmt::format("Z{}", factors[f]) + (equal > 1 ? fmt::format("^{}", equal) : ""));
  }
  return fmt::format("{}", fmt::join(names, " x "));
}

// Of a product of more than direct factors, in parentheses.
std::string factor_name(const Group& group) {
  const bool simple = group.name.find("x|") == std::string::npos && group.name.find('.') == std::string::npos;
  return simple ? group.name : "(" + group.name + ")";
}

using Permutation = std::vector<int>;

Permutation composed(const Permutation& first, const Permutation& then) {
  Permutation both;
  for (const int point : first) both.push_back(then[point]);
  return both;
}

// Of permutations g, h, ...: all g^e h^f ... with the exponents below the factors. Requires that these are a
// group, each element once.
Group permutation_group(std::string name, const std::vector<int>& factors,
                        const std::vector<Permutation>& generators) {
  std::vector<Permutation> all(1, Permutation(generators.front().size()));
  std::iota(all[0].begin(), all[0].end(), 0);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    std::vector<Permutation> longer;
    for (Permutation each : all)
      for (int i = 0; i < factors[f]; ++i, each = composed(each, generators[f])) longer.push_back(each);
    all = std::move(longer);
  }
  std::map<Permutation, int> numbers;
  for (std::size_t a = 0; a < all.size(); ++a) numbers[all[a]] = static_cast<int>(a);
  return with_table(std::move(name), factors,
                    [&](int a, int b) { return numbers.at(composed(all[a], all[b])); });
}

// The vectors of two elements modulo 5, multiplied from the left by a b / c d.
Permutation matrix_of_five(int a, int b, int c, int d) {
  Permutation images;
  for (int v = 0; v < 25; ++v)
    images.push_back((v / 5 * a + v % 5 * c) % 5 * 5 + (v / 5 * b + v % 5 * d) % 5);
  return images;
}

// The subgroup that elements generate, in the order of reaching it.
std::vector<int> closure(const Group& group, const std::vector<int>& elements) {
  std::vector<int> all = {0};
  std::vector<bool> known(group.order, false);
  known[0] = true;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const int element : elements)
      if (const int next = group.product(all[i], element); !known[next]) {
        known[next] = true;
        all.push_back(next);
      }
  return all;
}

// "a b^3"; "1" for the identity.
std::string word(const Group& group, int element) {
  std::vector<std::string> powers;
  const std::vector<int> exponents = digits(element, group.factors);
  for (std::size_t f = 0; f < exponents.size(); ++f)
    if (exponents[f] > 0)
      powers.push_back(std::string(1, static_cast<char>('a' + f)) +
                       (exponents[f] > 1 ? fmt::format("^{}", exponents[f]) : ""));
  return powers.empty() ? "1" : fmt::format("{}", fmt::join(powers, " "));
}

}  // namespace

int Group::power(int a, int exponent) const {
  int value = 0;
  for (int i = 0; i < exponent; ++i) value = product(value, a);
  return value;
}

int Group::generator(std::size_t factor) const {
  return std::accumulate(factors.begin() + static_cast<std::ptrdiff_t>(factor) + 1, factors.end(), 1,
                         std::multiplies<>());
}

std::string Group::element(int a) const {
  return factors.size() == 1 ? std::to_string(a) : fmt::format("({})", fmt::join(digits(a, factors), ","));
}

Group cyclic_product(const std::vector<int>& factors) {
  return with_table(cyclic_name(factors), factors, [&](int a, int b) {
    const std::vector<int> left = digits(a, factors), right = digits(b, factors);
    int sum = 0;
    for (std::size_t f = 0; f < factors.size(); ++f)
      sum = sum * factors[f] + (left[f] + right[f]) % factors[f];
    return sum;
  });
}

Group direct_product(const Group& a, const Group& b) {
  std::vector<int> factors = a.factors;
  factors.insert(factors.end(), b.factors.begin(), b.factors.end());
  const int n = b.order;
  return with_table(factor_name(a) + " x " + factor_name(b), std::move(factors),
                    [&](int x, int y) { return a.product(x / n, y / n) * n + b.product(x % n, y % n); });
}

// (n x^i) (m x^j) = n x^i(m) x^(i + j), of which x^k is one more element of N.
Group cyclic_extension(const Group& normal, int k, const std::vector<int>& moved, int power) {
  std::vector<std::vector<int>> times(1, std::vector<int>(normal.order));  // moved, i times
  std::iota(times[0].begin(), times[0].end(), 0);
  for (int i = 1; i < k; ++i) times.push_back(composed(times.back(), moved));
  std::vector<int> factors = normal.factors;
  factors.push_back(k);
  return with_table("", std::move(factors), [&](int a, int b) {
    const int i = a % k, j = b % k, both = normal.product(a / k, times[i][b / k]);
    return (i + j < k ? both : normal.product(both, power)) * k + (i + j) % k;
  });
}

Group semidirect_product(int m, int k, int r) {
  std::vector<int> moved;
  for (int a = 0; a < m; ++a) moved.push_back(a * r % m);
  Group group = cyclic_extension(cyclic_product({m}), k, moved, 0);
  group.name = k == 2 && r == m - 1 ? fmt::format("D{}", m) : fmt::format("Z{} x| Z{} by {}", m, k, r);
  return group;
}

Group dicyclic(int m) {
  std::vector<int> moved;
  for (int a = 0; a < 2 * m; ++a) moved.push_back((2 * m - a) % (2 * m));
  Group group = cyclic_extension(cyclic_product({2 * m}), 2, moved, m);
  group.name = (m & (m - 1)) == 0 ? fmt::format("Q{}", 4 * m) : fmt::format("Dic{}", m);
  return group;
}

// (1 2)(3 4), (1 3)(2 4) and (1 2 3) generate A4; no power of a cycle of five is there, but the identity.
Group alternating_of_five() {
  return permutation_group("A5", {2, 2, 3, 5},
                           {{1, 0, 3, 2, 4}, {2, 3, 0, 1, 4}, {1, 2, 0, 3, 4}, {1, 2, 3, 4, 0}});
}

// The quaternions i, j and -(1 + i + j + k)/2 generate SL(2,3); then an element of order five.
Group special_linear_of_five() {
  return permutation_group("SL(2,5)", {4, 2, 3, 5},
                           {matrix_of_five(2, 0, 0, 3), matrix_of_five(0, 1, 4, 0),
                            matrix_of_five(1, 1, 2, 3), matrix_of_five(1, 1, 0, 1)});
}

// Any product of generators is brought into the order of the digits by these, as in collection.
std::string relations(const Group& group) {
  std::vector<std::string> all;
  for (std::size_t g = 0; g < group.factors.size(); ++g) {
    const int b = group.generator(g), k = group.factors[g];
    all.push_back(fmt::format("{}^{} = {}", word(group, b), k, word(group, group.power(b, k))));
    for (std::size_t f = 0; f < g; ++f)
      if (const int a = group.generator(f); group.product(b, a) != group.product(a, b))
        all.push_back(
            fmt::format("{} {} = {}", word(group, b), word(group, a), word(group, group.product(b, a))));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

// The quotient by commutators and p-th powers, for each prime p.
int least_generators(const Group& group) {
  int most = 0;
  for (int p = 2, left = group.order; left > 1; ++p) {
    if (left % p != 0) continue;
    while (left % p == 0) left /= p;
    std::vector<int> elements;
    for (std::size_t f = 0; f < group.factors.size(); ++f)
      for (int b = 0; b < group.order; ++b) {
        const int a = group.generator(f);
        elements.push_back(group.product(group.product(a, b), group.inverses[group.product(b, a)]));
      }
    for (int a = 0; a < group.order; ++a) elements.push_back(group.power(a, p));
    std::ranges::sort(elements);
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    int dimensions = 0;
    for (int index = group.order / static_cast<int>(closure(group, elements).size()); index > 1; index /= p)
      ++dimensions;
    most = std::max(most, dimensions);
  }
  return most;
}

}  // namespace chorale
