// An isomorphism is determined by the images of some generators. These are chosen one after the other, of the
// same color; the images of all that the generators so far generate follow, and a product that has two images
// ends the choice.
#include "topology/wiring/isomorphism.h"

#include <algorithm>
#include <functional>
#include <map>

namespace chorale {
namespace {

constexpr int kColorRounds = 3;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {  // the steps of SplitMix64
  std::uint64_t x = a + 0x9e3779b97f4a7c15U * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

int order_of(const Group& group, int element) {
  int order = 1;
  for (int at = element; at != 0; at = group.product(at, element)) ++order;
  return order;
}

class Isomorphisms {
 public:
  using Taken = std::function<bool(const std::vector<int>&)>;  // false: no more are wanted

  Isomorphisms(const Group& from, const std::vector<std::uint64_t>& from_colors, const Group& to,
               const std::vector<std::uint64_t>& to_colors)
      : from_(from),
        to_(to),
        from_colors_(from_colors),
        to_colors_(to_colors),
        reached_(from.order, 0),
        used_(to.order, 0) {
    for (int a = 0; a < to.order; ++a) of_color_[to_colors[a]].push_back(a);
    choose_generators();
  }

  void find(const Taken& taken) {
    std::vector<int> images(from_.order, -1);
    images[0] = 0;
    std::vector<int> chosen;
    extend(images, chosen, taken);
  }

 private:
  // Of the fewest possible images first; of equal ones the first that enlarges the subgroup.
  void choose_generators() {
    std::vector<bool> reached(from_.order, false);
    reached[0] = true;
    for (int size = 1; size < from_.order;) {
      int best = -1;
      for (int a = 0; a < from_.order; ++a)
        if (!reached[a] && (best < 0 || choices(a) < choices(best))) best = a;
      generators_.push_back(best);
      std::vector<int> all = {0};
      std::fill(reached.begin(), reached.end(), false);
      reached[0] = true;
      for (std::size_t i = 0; i < all.size(); ++i)
        for (const int g : generators_)
          if (const int next = from_.product(all[i], g); !reached[next]) {
            reached[next] = true;
            all.push_back(next);
          }
      size = static_cast<int>(all.size());
    }
  }

  std::size_t choices(int a) const {
    const auto at = of_color_.find(from_colors_[a]);
    return at == of_color_.end() ? 0 : at->second.size();
  }

  bool extend(const std::vector<int>& images, std::vector<int>& chosen, const Taken& taken) {
    if (chosen.size() == generators_.size()) return taken(images);
    const auto alike = of_color_.find(from_colors_[generators_[chosen.size()]]);
    if (alike == of_color_.end()) return true;
    for (const int image : alike->second) {
      chosen.push_back(image);
      std::vector<int> longer = images;
      const bool more = !is_homomorphism(longer, chosen) || extend(longer, chosen, taken);
      chosen.pop_back();
      if (!more) return false;
    }
    return true;
  }

  // Fills in the images of the subgroup of the chosen generators. False where one would have two images, one
  // of another color, or one that another element has.
  bool is_homomorphism(std::vector<int>& images, const std::vector<int>& chosen) {
    ++pass_;
    queue_.assign(1, 0);
    reached_[0] = used_[0] = pass_;
    for (std::size_t i = 0; i < queue_.size(); ++i)
      for (std::size_t g = 0; g < chosen.size(); ++g) {
        const int next = from_.product(queue_[i], generators_[g]),
                  image = to_.product(images[queue_[i]], chosen[g]);
        if (reached_[next] != pass_) {
          if (used_[image] == pass_ || from_colors_[next] != to_colors_[image]) return false;
          reached_[next] = used_[image] = pass_;
          if (images[next] < 0) images[next] = image;
          queue_.push_back(next);
        }
        if (images[next] != image) return false;
      }
    return true;
  }

  const Group &from_, &to_;
  const std::vector<std::uint64_t>&from_colors_, &to_colors_;
  std::map<std::uint64_t, std::vector<int>> of_color_ = {};
  std::vector<int> generators_ = {};
  int pass_ =
      0;  // of is_homomorphism, with the elements that were reached and the images that were used in it
  std::vector<int> queue_ = {}, reached_ = {}, used_ = {};
};

}  // namespace

// Sums over all b do not depend on the numbers of elements.
std::vector<std::uint64_t> element_colors(const Group& group) {
  const int n = group.order;
  std::vector<std::uint64_t> colors(n, 0);
  for (int a = 0; a < n; ++a) {
    int centralizer = 0;
    for (int b = 0; b < n; ++b) centralizer += group.product(a, b) == group.product(b, a) ? 1 : 0;
    colors[a] = mix(order_of(group, a), centralizer);
  }
  for (int round = 0; round < kColorRounds; ++round) {
    std::vector<std::uint64_t> roots(n, 0), next(n, 0);
    for (int a = 0; a < n; ++a) roots[group.product(a, a)] += mix(colors[a], 1);
    for (int a = 0; a < n; ++a) {
      std::uint64_t sum = roots[a];
      for (int b = 0; b < n; ++b) {
        const int ab = group.product(a, b), back = group.product(b, a);
        sum += mix(colors[b] ^ colors[group.product(ab, group.inverses[back])] * 3, colors[ab]);
      }
      next[a] = mix(colors[a], sum);
    }
    colors = std::move(next);
  }
  return colors;
}

bool is_isomorphic(const Group& group, const std::vector<std::uint64_t>& colors, const Group& other,
                   const std::vector<std::uint64_t>& other_colors) {
  bool found = false;
  if (group.order == other.order)
    Isomorphisms(group, colors, other, other_colors).find([&](const std::vector<int>&) {
      found = true;
      return false;
    });
  return found;
}

std::vector<std::vector<int>> automorphisms(const Group& group, int most) {
  const std::vector<std::uint64_t> colors = element_colors(group);
  std::vector<std::vector<int>> all;
  Isomorphisms(group, colors, group, colors).find([&](const std::vector<int>& images) {
    all.push_back(images);
    return static_cast<int>(all.size()) < most;
  });
  std::vector<int> identity(group.order);
  for (int a = 0; a < group.order; ++a) identity[a] = a;
  if (std::ranges::find(all, identity) == all.end()) all.back() = identity;
  return all;
}

}  // namespace chorale
