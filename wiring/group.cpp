// Groups by their tables of products: products of cyclic groups by their invariant factors (every abelian
// group once), and semidirect products Z_m x Z_k by r, (a, b)(c, d) = (a + r^b c, b + d), with r^k = 1 mod
// m: dihedral groups for k = 2 and r = -1. An element is the mixed-radix number of its digits, and 0 is
// the neutral one.
#include "wiring/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

namespace chorale {
namespace {

constexpr int kMostImages = 50'000;  // choices of images of generators that are tried

std::vector<int> digits(int element, const std::vector<int>& factors) {
  std::vector<int> all(factors.size());
  for (std::size_t f = factors.size(); f-- > 0; element /= factors[f]) all[f] = element % factors[f];
  return all;
}

// n^2 products: a design has at most 512 ranks (api/design.h).
Group with_table(std::string name, std::vector<int> factors, const std::function<int(int, int)>& product) {
  Group group{.name = std::move(name), .factors = std::move(factors)};
  for (const int factor : group.factors) group.order *= factor;
  const int n = group.order;
  group.products.resize(static_cast<std::size_t>(n) * n);
  group.inverses.resize(n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      group.products[a * n + b] = product(a, b);
      if (group.products[a * n + b] == 0) group.inverses[a] = b;
    }
  return group;
}

std::vector<std::string> cyclic_names(const std::vector<int>& factors) {
  std::vector<std::string> names;
  for (const int factor : factors) names.push_back(fmt::format("Z{}", factor));
  return names;
}

// Each factor divides the next one: the invariant factors of an abelian group.
// 12 = 2 x 6 and 12, and not 3 x 4, which is the same group as 12.
void add_products(int left, std::vector<int>& factors, std::vector<GroupKind>& kinds) {
  if (left == 1) kinds.push_back({.factors = factors});
  for (int next = 2; next <= left; ++next) {
    if (left % next != 0 || (!factors.empty() && next % factors.back() != 0)) continue;
    factors.push_back(next);
    add_products(left / next, factors, kinds);
    factors.pop_back();
  }
}

int power(int r, int exponent, int m) {
  int value = 1;
  for (int i = 0; i < exponent; ++i) value = value * r % m;
  return value;
}

// Twists with the same powers give the same group: of each set of powers one.
// From m - 1 downwards, so that the dihedral group comes first.
void add_twisted(int m, int k, std::vector<GroupKind>& kinds) {
  std::set<std::set<int>> seen;
  for (int r = m - 1; r > 1; --r) {
    if (power(r, k, m) != 1) continue;
    std::set<int> powers;
    for (int i = 0; i < k; ++i) powers.insert(power(r, i, m));
    if (seen.insert(powers).second) kinds.push_back({.factors = {m, k}, .twist = r});
  }
}

int order_of(const Group& group, int element) {
  int order = 1;
  for (int at = element; at != 0; at = group.product(at, element)) ++order;
  return order;
}

// Images of the generators, one for each factor, chosen one after the other. They determine an automorphism,
// and have the orders of the generators. Each choice is tried: the map has to be a bijection, and to respect
// products with generators; by induction it then respects all products.
class Images {
 public:
  Images(const Group& group, int most) : group_(group), most_(most) {
    for (std::size_t f = 0; f < group.factors.size(); ++f) {
      int generator = 1;
      for (std::size_t g = f + 1; g < group.factors.size(); ++g) generator *= group.factors[g];
      generators_.push_back(generator);
    }
    for (int a = 0; a < group.order; ++a) orders_.push_back(order_of(group, a));
  }

  std::vector<std::vector<int>> all() {
    std::vector<int> images;
    choose(images);
    return std::move(found_);
  }

 private:
  void choose(std::vector<int>& images) {
    if (images.size() == generators_.size()) return keep_if_automorphism(images);
    for (int a = 0; a < group_.order; ++a) {
      if (static_cast<int>(found_.size()) >= most_ || tried_ > kMostImages) return;
      if (orders_[a] != orders_[generators_[images.size()]]) continue;
      images.push_back(a);
      choose(images);
      images.pop_back();
    }
  }

  // An element is a product of powers of the generators, in the order of the factors.
  void keep_if_automorphism(const std::vector<int>& images) {
    ++tried_;
    const int n = group_.order;
    std::vector<int> map(n, 0);
    std::vector<bool> taken(n, false);
    for (int a = 0; a < n; ++a) {
      const std::vector<int> powers = digits(a, group_.factors);
      for (std::size_t f = 0; f < powers.size(); ++f)
        for (int i = 0; i < powers[f]; ++i) map[a] = group_.product(map[a], images[f]);
      if (taken[map[a]]) return;
      taken[map[a]] = true;
    }
    for (int a = 0; a < n; ++a)
      for (std::size_t f = 0; f < images.size(); ++f)
        if (map[group_.product(a, generators_[f])] != group_.product(map[a], images[f])) return;
    found_.push_back(std::move(map));
  }

  const Group& group_;
  const int most_;
  int tried_ = 0;
  std::vector<int> generators_ = {}, orders_ = {};
  std::vector<std::vector<int>> found_ = {};
};

}  // namespace

std::string Group::element(int a) const {
  return factors.size() == 1 ? std::to_string(a) : fmt::format("({})", fmt::join(digits(a, factors), ","));
}

Group cyclic_product(const std::vector<int>& factors) {
  return with_table(fmt::format("{}", fmt::join(cyclic_names(factors), " x ")), factors, [&](int a, int b) {
    const std::vector<int> left = digits(a, factors), right = digits(b, factors);
    int sum = 0;
    for (std::size_t f = 0; f < factors.size(); ++f)
      sum = sum * factors[f] + (left[f] + right[f]) % factors[f];
    return sum;
  });
}

Group semidirect_product(int m, int k, int r) {
  std::vector<int> powers;
  for (int b = 0; b < k; ++b) powers.push_back(power(r, b, m));
  const bool dihedral = k == 2 && r == m - 1;
  return with_table(dihedral ? fmt::format("D{}", m) : fmt::format("Z{} x Z{} by {}", m, k, r), {m, k},
                    [&](int x, int y) {
                      const int a = x / k, b = x % k, c = y / k, d = y % k;
                      return (a + powers[b] * c) % m * k + (b + d) % k;
                    });
}

Group GroupKind::group() const {
  return twist == 1 ? cyclic_product(factors) : semidirect_product(factors[0], factors[1], twist);
}

// Abelian groups first, the cyclic one before products of more factors. A semidirect product needs m >= 3:
// Z_2 has no automorphism but the identity.
std::vector<GroupKind> groups_of(int order) {
  std::vector<GroupKind> kinds;
  std::vector<int> factors;
  add_products(order, factors, kinds);
  std::ranges::stable_sort(kinds, {}, [](const GroupKind& kind) { return kind.factors.size(); });
  for (int m = 3; m <= order / 2; ++m)
    if (order % m == 0) add_twisted(m, order / m, kinds);
  return kinds;
}

// The identity is added where the limits ended the enumeration before it.
std::vector<std::vector<int>> automorphisms(const Group& group, int most) {
  std::vector<std::vector<int>> all = Images(group, most).all();
  std::vector<int> identity(group.order);
  for (int a = 0; a < group.order; ++a) identity[a] = a;
  if (std::ranges::find(all, identity) == all.end()) all.push_back(identity);
  return all;
}

}  // namespace chorale
