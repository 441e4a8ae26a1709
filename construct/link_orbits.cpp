// The group is given by its action on ranks, so a link is mapped as its ends are. Equal parallel links are
// mapped by their numbers, as in graph/automorphisms.h. Links are sorted by their ends, and found by
// binary search: a table of all images would take more memory than the machine, and most images are never
// used.
#include "construct/link_orbits.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace chorale {
namespace {

auto kind_of(const Link& link, Rank dst) {
  return std::tuple(dst, link.bandwidth, link.alpha_us, link.beta_us_per_byte);
}

}  // namespace

std::vector<std::vector<Rank>> identity_alone(int ranks) {
  std::vector<std::vector<Rank>> group(1, std::vector<Rank>(ranks));
  std::iota(group.front().begin(), group.front().end(), 0);
  return group;
}

// A link's place is its number among parallel links of its kind, which linked() adds to the first of that
// kind.
LinkOrbits::LinkOrbits(const Topology& topology, const std::vector<std::vector<Rank>>& group)
    : topology_(topology), group_(group) {
  const int links = static_cast<int>(topology.links.size());
  for (LinkId l = 0; l < links; ++l) sorted_.push_back(l);
  std::ranges::stable_sort(sorted_, {}, [&](LinkId l) {
    return std::pair(topology.links[l].src, kind_of(topology.links[l], topology.links[l].dst));
  });
  first_.assign(topology.ranks + 1, 0);
  for (const Link& link : topology.links) ++first_[link.src + 1];
  for (Rank n = 0; n < topology.ranks; ++n) first_[n + 1] += first_[n];
  place_.assign(links, 0);
  for (int i = 1; i < links; ++i) {
    const Link &a = topology.links[sorted_[i - 1]], &b = topology.links[sorted_[i]];
    if (a.src == b.src && kind_of(a, a.dst) == kind_of(b, b.dst))
      place_[sorted_[i]] = place_[sorted_[i - 1]] + 1;
  }
  find_orbits();
  share_limits();
  share_links();
}

// The link between the images of its ends, of the same width and prices, with the same number among equals.
LinkId LinkOrbits::linked(LinkId l, const std::vector<Rank>& ranks) const {
  const Link& link = topology_.links[l];
  const auto begin = sorted_.begin() + first_[ranks[link.src]],
             end = sorted_.begin() + first_[ranks[link.src] + 1];
  const auto at = std::ranges::lower_bound(begin, end, kind_of(link, ranks[link.dst]), {}, [&](LinkId m) {
    return kind_of(topology_.links[m], topology_.links[m].dst);
  });
  assert(at + place_[l] < end);
  return *(at + place_[l]);
}

// Only the identity fixes a rank, so no two elements carry a link into a representative to the same link:
// each link is met exactly once.
void LinkOrbits::find_orbits() {
  representative_.assign(topology_.ranks, -1);
  for (Rank n = 0; n < topology_.ranks; ++n)
    if (representative_[n] < 0)
      for (const std::vector<Rank>& g : group_) representative_[g[n]] = n;
  entering_.assign(topology_.links.size(), -1);
  for (LinkId l = 0; l < static_cast<int>(topology_.links.size()); ++l)
    if (const Rank v = topology_.links[l].dst; representative_[v] == v)
      for (const std::vector<Rank>& g : group_) entering_[linked(l, g)] = l;
}

// An orbit of limits is identified by the links of one of them, carried to representatives, with repetitions.
void LinkOrbits::share_limits() {
  shares_.resize(topology_.links.size());
  std::map<std::pair<int, std::vector<LinkId>>, int> known;
  for (const SharedLimit& limit : topology_.limits) {
    std::vector<LinkId> carried;
    for (LinkId l : limit.links) carried.push_back(entering_[l]);
    std::ranges::sort(carried);
    const int bin = static_cast<int>(capacities_.size());
    const auto [at, fresh] = known.try_emplace({limit.bandwidth, carried}, bin);
    bin_of_limit_.push_back(at->second);
    if (!fresh) continue;
    capacities_.push_back(limit.bandwidth);
    for (LinkId l : carried) {
      if (shares_[l].empty() || shares_[l].back().bin != bin) shares_[l].push_back({.bin = bin, .weight = 0});
      ++shares_[l].back().weight;
    }
  }
}

// A link is a bin of its own unless a limit over it is no wider, which then is full no later than the link.
void LinkOrbits::share_links() {
  for (LinkId l = 0; l < static_cast<int>(topology_.links.size()); ++l) {
    if (entering_[l] != l) continue;
    const long long wide = topology_.links[l].bandwidth;
    if (std::ranges::any_of(shares_[l],
                            [&](const Share& s) { return wide * s.weight >= capacities_[s.bin]; }))
      continue;
    shares_[l].push_back({.bin = static_cast<int>(capacities_.size())});
    capacities_.push_back(wide);
  }
}

}  // namespace chorale
