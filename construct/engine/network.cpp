// Bins of links and arcs of ranks are lists by index in one array (compressed rows): packing reads them for
// each link of each tree. A link has a bin of its own only if it is narrower than every limit over it, since
// otherwise such a limit is full no later.
#include "construct/engine/network.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace chorale {

// The group is given by its action on ranks, so a link is mapped as its ends are. Equal parallel links are
// mapped by their numbers, as in graph/automorphisms.h. Links are sorted by their ends, and found by
// binary search: a table of all images would take more memory than the machine, and most images are never
// used.

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

// A class is known by its sources and destinations, so an element of the group carries it to the class of the
// carried sets: one look-up for each representative and element. Elements that carry a representative to the
// same class are as many as those that carry it to itself, |group| / |orbit|; this number, the unit, must be
// the same for all orbits, or one chunk of each would not make equally many of all classes.

namespace {

RankSet carried(const RankSet& ranks, const std::vector<Rank>& element) {
  std::vector<Rank> images;
  for (const Rank n : ranks) images.push_back(element[n]);
  return RankSet(std::move(images));
}

}  // namespace

std::optional<ClassOrbits> class_orbits(const std::vector<ChunkClass>& classes,
                                        const std::vector<std::vector<Rank>>& group) {
  std::map<std::pair<RankSet, RankSet>, int> number;
  for (int k = 0; k < std::ssize(classes); ++k) number[{classes[k].pre, classes[k].post}] = k;
  ClassOrbits orbits;
  // By class: elements that have carried a representative to it; 0: it is in no orbit so far.
  std::vector<int> met(classes.size(), 0);
  for (int k = 0; k < std::ssize(classes); ++k) {
    if (met[k] > 0) continue;
    std::vector<ClassOrbits::Image> images;
    for (const std::vector<Rank>& element : group) {
      const auto image = number.find({carried(classes[k].pre, element), carried(classes[k].post, element)});
      if (image == number.end() || classes[image->second].count() != classes[k].count()) return std::nullopt;
      images.push_back({.of = image->second, .place = met[image->second]++});
    }
    if (orbits.representatives.empty()) orbits.unit = met[k];
    if (met[k] != orbits.unit) return std::nullopt;
    orbits.representatives.push_back(classes[k]);
    orbits.images.push_back(std::move(images));
  }
  return orbits;
}

namespace {

// Lists by index, one after the other: `first` has where each begins, and where the last one ends.
template <class T>
void flatten(const std::vector<std::vector<T>>& lists, std::vector<T>& all, std::vector<int>& first) {
  first = {0};
  for (const std::vector<T>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    first.push_back(static_cast<int>(all.size()));
  }
}

}  // namespace

Network::Network(const Topology& topology) : topology_(topology) {
  std::vector<std::vector<int>> bins(topology.links.size());
  std::vector<int> least(topology.links.size(), std::numeric_limits<int>::max());
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links) least[l] = std::min(least[l], limit.bandwidth);
  for (LinkId l = 0; l < links(); ++l) {
    own_bin_.push_back(least[l] > topology.links[l].bandwidth ? this->bins() : -1);
    if (own_bin_[l] < 0) continue;
    bins[l].push_back(this->bins());
    capacity_.push_back(topology.links[l].bandwidth);
  }
  for (const SharedLimit& limit : topology.limits) {
    for (const LinkId l : limit.links) bins[l].push_back(this->bins());
    bin_of_limit_.push_back(this->bins());
    capacity_.push_back(limit.bandwidth);
  }
  flatten(bins, bins_, first_bin_);
  add_arcs();
}

// Packing counts sends: a bin has one capacity, and no weight for each link. So all links of a bin have to
// take the same part of it.
std::optional<Network> Network::up_to(const Topology& topology, std::vector<std::vector<Rank>> group) {
  if (group.size() <= 1) return Network(topology);
  auto symmetry = std::make_shared<const Symmetry>(topology, std::move(group));
  std::vector<int> weights(symmetry->orbits.capacities().size(), 0);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    for (const auto& [bin, weight] : symmetry->orbits.shares(l)) {
      if (weights[bin] != 0 && weights[bin] != weight) return std::nullopt;
      weights[bin] = weight;
    }
  return Network(topology, std::move(symmetry));
}

// All links of a bin take the same part of it, so that the part is a unit of its capacity. A link's own bin,
// if it has one, is the last of its bins (LinkOrbits::share_links).
Network::Network(const Topology& topology, std::shared_ptr<const Symmetry> symmetry)
    : topology_(topology), symmetry_(std::move(symmetry)) {
  const LinkOrbits& orbits = symmetry_->orbits;
  for (const long long capacity : orbits.capacities()) capacity_.push_back(static_cast<double>(capacity));
  std::vector<std::vector<int>> bins(topology.links.size());
  for (LinkId l = 0; l < links(); ++l)
    for (const auto& [bin, weight] : orbits.shares(l)) {
      bins[l].push_back(bin);
      capacity_[bin] = static_cast<double>(orbits.capacities()[bin]) / weight;
    }
  std::vector<char> of_limit(capacity_.size(), false);
  for (int z = 0; z < std::ssize(topology.limits); ++z) {
    bin_of_limit_.push_back(orbits.bin_of_limit(z));
    of_limit[bin_of_limit_.back()] = true;
  }
  for (const std::vector<int>& own : bins)
    own_bin_.push_back(own.empty() || of_limit[own.back()] ? -1 : own.back());
  flatten(bins, bins_, first_bin_);
  add_arcs();
}

// Trees of copies grow along arcs out of a rank, trees of sums along arcs into it.
void Network::add_arcs() {
  std::vector<std::vector<Arc>> out_of(ranks()), into(ranks());
  for (LinkId l = 0; l < links(); ++l) {
    out_of[src(l)].push_back({.link = l, .to = dst(l)});
    into[dst(l)].push_back({.link = l, .to = src(l)});
  }
  flatten(out_of, out_of_, first_out_of_);
  flatten(into, into_, first_into_);
}

void Network::price_links(std::span<const double> bin_prices, std::vector<double>& prices) const {
  prices.resize(links());
  for (LinkId l = 0; l < links(); ++l) {
    double sum = 0;
    for (const int b : bins_of(l)) sum += bin_prices[b];
    prices[l] = sum;
  }
}

}  // namespace chorale
