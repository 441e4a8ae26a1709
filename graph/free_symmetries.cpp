#include "graph/free_symmetries.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "graph/automorphisms.h"

namespace chorale {

// A digit is a stride and a number of values. Adding one to it, modulo its values, is a symmetry or not,
// whatever the other digits are; so each possible digit is tried once, and a number system is composed of the
// symmetric digits, such that shifts move a rank to as many others as possible. Shifts of different digits
// commute, so all combinations of them are the group.
//
// Alternative that lost: generators from bliss (automorphisms.h), and free subgroups composed of random
// products of them, which takes minutes at 1,024 ranks and may miss the group that acts on all ranks alike.

namespace {

struct Digit {
  int stride = 1;
  int values = 1;
};

Rank turned(Rank n, const Digit& digit, int by) {
  const int value = n / digit.stride % digit.values;
  return n + ((value + by) % digit.values - value) * digit.stride;
}

class Digits {
 public:
  explicit Digits(const Topology& topology) : topology_(topology) {
    for (const Link& link : topology.links) links_.push_back(ends(link.src, link.dst, link));
    std::ranges::sort(links_);
  }

  // Such that their shifts carry a rank to as many others as possible.
  std::vector<Digit> best() { return below(topology_.ranks); }

 private:
  using Ends = std::tuple<Rank, Rank, int>;
  static Ends ends(Rank src, Rank dst, const Link& link) { return {src, dst, link.bandwidth}; }

  // For the digits under this stride, which divides the ranks.
  std::vector<Digit> below(int stride) {
    if (const auto known = best_.find(stride); known != best_.end()) return known->second;
    std::vector<Digit> most;
    long long reach = 1;
    for (int values = stride; values > 1; --values) {
      if (stride % values != 0) continue;
      const Digit digit{.stride = stride / values, .values = values};
      std::vector<Digit> digits = below(digit.stride);
      if (is_symmetry(digit)) digits.push_back(digit);
      long long carried = 1;
      for (const Digit& d : digits) carried *= d.values;
      if (carried > reach) {
        reach = carried;
        most = std::move(digits);
      }
      if (reach == stride) break;
    }
    return best_[stride] = most;
  }

  // Most digits that are not symmetric fail at the first links.
  bool is_symmetry(const Digit& digit) {
    for (const Link& link : topology_.links)
      if (!std::ranges::binary_search(links_,
                                      ends(turned(link.src, digit, 1), turned(link.dst, digit, 1), link)))
        return false;
    std::vector<Rank> ranks(topology_.ranks);
    for (Rank n = 0; n < topology_.ranks; ++n) ranks[n] = turned(n, digit, 1);
    return automorphism(topology_, ranks).has_value();
  }

  const Topology& topology_;
  std::vector<Ends> links_ = {};  // sorted
  std::map<int, std::vector<Digit>> best_ = {};
};

}  // namespace

std::vector<std::vector<Rank>> digit_shifts(const Topology& topology) {
  std::vector<std::vector<Rank>> group(1);
  for (Rank n = 0; n < topology.ranks; ++n) group.front().push_back(n);
  for (const Digit& digit : Digits(topology).best()) {
    const std::size_t before = group.size();
    for (int by = 1; by < digit.values; ++by)
      for (std::size_t g = 0; g < before; ++g) {
        std::vector<Rank> ranks = group[g];
        for (Rank& n : ranks) n = turned(n, digit, by);
        group.push_back(std::move(ranks));
      }
  }
  return group;
}

namespace {

constexpr std::size_t kMostLinks =
    5000;  // for which bliss and products of its generators take some hundredths

}  // namespace

std::vector<std::vector<Rank>> free_symmetries(const Topology& topology) {
  std::vector<std::vector<Rank>> shifts = digit_shifts(topology);
  if (std::ssize(shifts) == topology.ranks || topology.links.size() > kMostLinks) return shifts;
  std::vector<std::vector<Rank>> found = largest_free_subgroup(topology);
  return found.size() > shifts.size() ? found : shifts;
}

}  // namespace chorale
