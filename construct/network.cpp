// Bins of links and arcs of ranks are lists by index in one array (compressed rows): packing reads them for
// each link of each tree. A link has a bin of its own only if it is narrower than every limit over it, since
// otherwise such a limit is full no later.
#include "construct/network.h"

#include <algorithm>
#include <limits>

namespace chorale {
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
