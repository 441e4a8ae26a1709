// All groups of an order by cyclic extension (Besche, Eick and O'Brien 2002): a solvable group has a normal
// subgroup N of prime index p, so that it is N and one more element x with x^p in N, and x acts on N as an
// automorphism. All groups N of smaller orders are extended by all automorphisms and powers, and of what
// comes out each group is kept once. The groups below order 128 that are not solvable have A5 in them: A5
// itself and, of order 120, SL(2,5) are added, and S5 and A5 x Z2 are extensions of A5.
//
// Equivalent extensions are made once. With another element n x in place of x the action changes by an inner
// automorphism; with x^j, it is repeated j times; and automorphisms of N conjugate it. Of actions that these
// carry to each other one is taken. Of the powers that belong to it, those of elements z x with z in the
// centre of N are one.
//
// Z2^5 with its ten million automorphisms is never extended. Where every subgroup of index two of a group of
// order 64 is Z2^5, all of its elements but in a cyclic group are in such a subgroup, so that the group is
// Z2^6, which is listed as abelian. Of order 96 x acts on Z2^5 with order three, so that it keeps one of its
// vectors at least (its irreducible parts have dimensions 1 and 2), and by Maschke's theorem the group is a
// product with Z2, which is an extension of a group of order 48.
#include "topology/wiring/all_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "topology/wiring/isomorphism.h"

namespace chorale {
namespace {

constexpr int kMaxAutomorphismsExtended = 50'000;
constexpr std::size_t kConjugators = 6;

// Each factor divides the next one: the invariant factors of an abelian group. 12 = 2 x 6 and 12, and not
// 3 x 4, which is the same group as 12.
void add_products(int left, std::vector<int>& factors, std::vector<std::vector<int>>& all) {
  if (left == 1) all.push_back(factors);
  for (int next = 2; next <= left; ++next) {
    if (left % next != 0 || (!factors.empty() && next % factors.back() != 0)) continue;
    factors.push_back(next);
    add_products(left / next, factors, all);
    factors.pop_back();
  }
}

int power(int r, int exponent, int m) {
  int value = 1;
  for (int i = 0; i < exponent; ++i) value = value * r % m;
  return value;
}

bool is_abelian(const Group& group) {
  for (int a = 0; a < group.order; ++a)
    for (int b = 0; b < a; ++b)
      if (group.product(a, b) != group.product(b, a)) return false;
  return true;
}

bool is_prime(int k) {
  for (int p = 2; p * p <= k; ++p)
    if (k % p == 0) return false;
  return k > 1;
}

struct Extension {
  std::vector<int> moved = {};
  int power = 0;
};

// All ways to add an element to a group, up to those equivalences.
class Extensions {
 public:
  explicit Extensions(const Group& normal)
      : normal_(normal), all_(automorphisms(normal, kMaxAutomorphismsExtended)) {
    for (std::size_t f = 0; f < normal.factors.size(); ++f) generators_.push_back(normal.generator(f));
    for (std::size_t i = 0; i < all_.size(); ++i) numbers_.emplace(key(all_[i]), i);
    for (std::size_t i = 0; i < std::min(kConjugators, all_.size()); ++i)
      conjugators_.push_back((i + 1) * 0x9e3779b1U % all_.size());
    for (const std::size_t i : conjugators_) {
      std::vector<int> inverse(normal.order);
      for (int a = 0; a < normal.order; ++a) inverse[all_[i][a]] = a;
      inverses_.push_back(std::move(inverse));
    }
  }

  bool has_all() const { return std::ssize(all_) < kMaxAutomorphismsExtended; }

  // `split`: x^k = 1, and x moves some element.
  std::vector<Extension> by(int k, bool split) const {
    std::vector<Extension> found;
    std::vector<bool> seen(all_.size(), false);
    for (std::size_t first = 0; first < all_.size(); ++first) {
      if (seen[first] || (split && is_identity(all_[first]))) continue;
      const std::vector<int> possible = powers(all_[first], k);
      if (possible.empty() || (split && possible.front() != 0)) continue;
      mark(first, k, split, seen);
      for (const int power : possible)
        if (!split || power == 0) found.push_back({all_[first], power});
    }
    return found;
  }

 private:
  std::uint64_t key(const std::vector<int>& map) const {
    std::uint64_t key = 0;
    for (const int g : generators_) key = key * 64 + map[g];
    return key;
  }

  bool is_identity(const std::vector<int>& map) const {
    return std::ranges::all_of(generators_, [&](int g) { return map[g] == g; });
  }

  // All automorphisms that are equivalent to one. With fewer conjugations than there are, too few are marked,
  // which costs time only.
  void mark(std::size_t first, int k, bool split, std::vector<bool>& seen) const {
    std::vector<std::size_t> queue = {first};
    seen[first] = true;
    const auto reach = [&](auto image) {  // of a generator
      std::uint64_t key = 0;
      for (const int g : generators_) key = key * 64 + image(g);
      if (const std::size_t next = numbers_.at(key); !seen[next]) {
        seen[next] = true;
        queue.push_back(next);
      }
    };
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::vector<int>& map = all_[queue[i]];
      for (std::size_t c = 0; c < conjugators_.size(); ++c)
        reach([&](int g) { return all_[conjugators_[c]][map[inverses_[c][g]]]; });
      for (int j = 2; j < k; ++j)
        if (std::gcd(j, k) == 1)
          reach([&](int g) {
            for (int t = 0; t < j; ++t) g = map[g];
            return g;
          });
      if (split) continue;  // n x may have another power than x
      for (const int n : generators_)
        reach([&](int g) { return normal_.product(normal_.product(n, map[g]), normal_.inverses[n]); });
    }
  }

  // Elements a that x^k may be: x keeps it, and k times its action is that of a. Of those that z x with
  // central z carry to each other, the first.
  std::vector<int> powers(const std::vector<int>& map, int k) const {
    std::vector<int> found;
    std::vector<bool> seen(normal_.order, false);
    for (int a = 0; a < normal_.order; ++a) {
      if (seen[a] || map[a] != a || !std::ranges::all_of(generators_, [&](int g) {
            int image = g;
            for (int t = 0; t < k; ++t) image = map[image];
            return normal_.product(image, a) == normal_.product(a, g);
          }))
        continue;
      found.push_back(a);
      for (int z = 0; z < normal_.order; ++z) {
        if (!is_central(z)) continue;
        int product = 0;
        for (int t = 0, image = z; t < k; ++t, image = map[image]) product = normal_.product(product, image);
        seen[normal_.product(product, a)] = true;
      }
    }
    return found;
  }

  bool is_central(int z) const {
    return std::ranges::all_of(generators_,
                               [&](int g) { return normal_.product(g, z) == normal_.product(z, g); });
  }

  const Group& normal_;
  const std::vector<std::vector<int>> all_;
  std::vector<int> generators_ = {};
  std::unordered_map<std::uint64_t, std::size_t> numbers_ = {};  // of all_, by images of generators
  std::vector<std::size_t> conjugators_ = {};
  std::vector<std::vector<int>> inverses_ = {};
};

std::string in_parentheses(const std::string& name) {
  return name.find(' ') == std::string::npos ? name : "(" + name + ")";
}

// "Z2^3 x| Z8" of a semidirect product, "Q8 . Z2" of another extension.
std::string extension_name(const Group& normal, int k, bool split) {
  const std::string name = fmt::format("{} {} Z{}", in_parentheses(normal.name), split ? "x|" : ".", k);
  static const std::map<std::string, std::string> known = {
      {"Z2^2 x| Z3", "A4"}, {"A4 x| Z2", "S4"}, {"Q8 x| Z3", "SL(2,3)"}, {"A5 x| Z2", "S5"}};
  const auto at = known.find(name);
  return at == known.end() ? name : at->second;
}

class Catalogue {
 public:
  explicit Catalogue(const std::atomic<bool>* stop) : stop_(stop) {}

  const std::vector<Group>& of(int order) {
    if (const auto known = groups_.find(order); known != groups_.end()) return known->second;
    std::vector<Group> groups = Listed(*this, order).all();
    return groups_.emplace(order, std::move(groups)).first->second;
  }

 private:
  // Kinds with the simplest descriptions come first.
  class Listed {
   public:
    Listed(Catalogue& catalogue, int order) : catalogue_(catalogue), order_(order) {}

    std::vector<Group> all() {
      add_abelian();
      add_metacyclic();
      if (order_ % 4 == 0 && order_ >= 8) add(dicyclic(order_ / 4));
      if (order_ > kMaxOrderOfAllGroups) return std::move(groups_);
      add_direct_products();
      if (order_ == 60) add(alternating_of_five());
      if (order_ == 120) add(special_linear_of_five());
      for (int k = order_ / 4; k > 1; --k) add_extensions(k, true);
      for (int k = order_ / 2; k > 1; --k)
        if (is_prime(k)) add_extensions(k, false);
      return std::move(groups_);
    }

   private:
    void add_abelian() {
      std::vector<std::vector<int>> all;
      std::vector<int> factors;
      add_products(order_, factors, all);
      std::ranges::stable_sort(all, {}, [](const std::vector<int>& each) { return each.size(); });
      for (const std::vector<int>& each : all) add(cyclic_product(each));
    }

    // Twists with the same powers give the same group: of each set of powers one, from m - 1 downwards, so
    // that the dihedral group comes first. Z_2 has no automorphism but the identity.
    void add_metacyclic() {
      for (int m = 3; m <= order_ / 2; ++m) {
        const int k = order_ / m;
        if (order_ % m != 0) continue;
        std::set<std::set<int>> seen;
        for (int r = m - 1; r > 1; --r) {
          if (power(r, k, m) != 1) continue;
          std::set<int> powers;
          for (int i = 0; i < k; ++i) powers.insert(power(r, i, m));
          if (seen.insert(powers).second) add(semidirect_product(m, k, r));
        }
      }
    }

    void add_direct_products() {
      for (int m = 6; m <= order_ / 2; ++m)
        if (order_ % m == 0)
          for (const Group& group : catalogue_.of(m))
            if (!is_abelian(group))
              for (const Group& other : catalogue_.of(order_ / m)) add(direct_product(group, other));
    }

    void add_extensions(int k, bool split) {
      if (order_ % k != 0) return;
      for (const Group& normal : catalogue_.of(order_ / k)) {
        if (catalogue_.stopped()) return;
        const Extensions extensions(normal);
        if (!extensions.has_all()) continue;
        for (const Extension& each : extensions.by(k, split)) {
          Group group = cyclic_extension(normal, k, each.moved, each.power);
          group.name = extension_name(normal, k, split);
          add(std::move(group));
        }
      }
    }

    // Where a group with this name is there, the name gets a number.
    void add(Group group) {
      std::vector<std::uint64_t> colors = element_colors(group), sorted = colors;
      std::ranges::sort(sorted);
      const auto [first, last] = by_colors_.equal_range(sorted);
      for (auto at = first; at != last; ++at)
        if (is_isomorphic(group, colors, groups_[at->second], colors_[at->second])) return;
      by_colors_.emplace(std::move(sorted), groups_.size());
      colors_.push_back(std::move(colors));
      if (const int number = ++named_[group.name]; number > 1) group.name += fmt::format(" #{}", number);
      groups_.push_back(std::move(group));
    }

    Catalogue& catalogue_;
    const int order_;
    std::vector<Group> groups_ = {};
    std::vector<std::vector<std::uint64_t>> colors_ = {};
    std::multimap<std::vector<std::uint64_t>, std::size_t> by_colors_ = {};
    std::map<std::string, int> named_ = {};
  };

  bool stopped() const { return stop_ != nullptr && stop_->load(); }

  const std::atomic<bool>* const stop_;
  std::map<int, std::vector<Group>> groups_ = {};
};

}  // namespace

std::vector<Group> groups_of(int order, const std::atomic<bool>* stop) {
  return Catalogue(stop).of(order);
}

}  // namespace chorale
