// Small finite groups by their tables.
#pragma once

#include <string>
#include <vector>

namespace chorale {

// Elements are numbers, 0 the identity; each is a digit of each factor, the last one the fastest.
struct Group {
  std::string name = {};          // "Z64", "Z4 x Z16", "D32", "Z16 x Z4 by 3"
  std::vector<int> factors = {};  // orders of the cyclic groups that it is a product of
  int order = 1;
  std::vector<int> products = {};  // a b at a * order + b
  std::vector<int> inverses = {};

  int product(int a, int b) const { return products[a * order + b]; }
  std::string element(int) const;  // "14", "(1,3)"
};

// Z_a x Z_b x ...
Group cyclic_product(const std::vector<int>& factors);

// Z_m x Z_k with (a, b) (c, d) = (a + r^b c, b + d). Requires r^k = 1 modulo m; of k = 2 and r = m - 1 it is
// the dihedral group of m.
Group semidirect_product(int m, int k, int r);

// A group whose elements are numbered from 0 to order - 1, without its table: of these groups that of each
// kind once. All abelian groups, and all semidirect products of two cyclic groups; others are not listed.
struct GroupKind {
  std::vector<int> factors = {};
  int twist = 1;  // r; 1: the direct product
  Group group() const;
};
std::vector<GroupKind> groups_of(int order);

// Automorphisms, the identity among them: all, or the first `most` that are found.
std::vector<std::vector<int>> automorphisms(const Group&, int most);

}  // namespace chorale
