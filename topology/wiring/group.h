// Small finite groups by their tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chorale {

// Elements are numbers, 0 the identity. An element is also a digit for each factor, the last one the fastest:
// (e, f, ...) is a^e b^f ..., where a, b, ... are the elements with one digit 1 and the others 0.
struct Group {
  std::string name = {};          // "Z64", "Z4 x Z16", "D32", "Z4 x| Z16 by 3", "Z2^3 x| Z8"
  std::vector<int> factors = {};  // sizes of the digits
  int order = 1;
  std::vector<std::uint16_t> products = {};  // a b at a * order + b
  std::vector<std::uint16_t> inverses = {};

  int product(int a, int b) const { return products[a * order + b]; }
  int power(int a, int exponent) const;
  int generator(std::size_t factor) const;  // the element with that digit 1
  std::string element(int) const;           // "14", "(1,3)"
};

// Z_a x Z_b x ...
Group cyclic_product(const std::vector<int>& factors);

Group direct_product(const Group& a, const Group& b);

// Returns the group of N and one more element x: x^k = power, an element of N, and x n x^-1 = moved[n].
// Requires that `moved` is an automorphism of N that keeps `power`, and that k times it is n -> power n
// power^-1.
Group cyclic_extension(const Group& normal, int k, const std::vector<int>& moved, int power);

// Z_m x| Z_k with (a, b) (c, d) = (a + r^b c, b + d). Requires r^k = 1 modulo m; of k = 2 and r = m - 1 it is
// the dihedral group of m.
Group semidirect_product(int m, int k, int r);

// x^2 = m of Z_2m, and x turns Z_2m around: Q8, Q16 and so on where m is a power of two. Requires m >= 2.
Group dicyclic(int m);

// A5 (60), and the matrices of two rows over five elements with determinant 1 (120).
Group alternating_of_five();
Group special_linear_of_five();

// Relations that define the group, of a, b, ... as above: "a^2 = b^8 = 1, b a = a b^3"; two of which none
// relates commute.
std::string relations(const Group&);

// Elements without which it is not generated, at least: the most that a quotient Z_p x Z_p x ... has.
int least_generators(const Group&);

}  // namespace chorale
