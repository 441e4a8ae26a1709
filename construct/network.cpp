#include "construct/network.h"

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
  std::vector<std::vector<Arc>> out_of(topology.ranks), into(topology.ranks);
  for (LinkId l = 0; l < links(); ++l) {
    const Link& link = topology.links[l];
    capacity_.push_back(link.bandwidth);
    bins[l].push_back(l);
    out_of[link.src].push_back({.link = l, .to = link.dst});
    into[link.dst].push_back({.link = l, .to = link.src});
  }
  for (const SharedLimit& limit : topology.limits) {
    for (const LinkId l : limit.links) bins[l].push_back(this->bins());
    capacity_.push_back(limit.bandwidth);
  }
  flatten(bins, bins_, first_bin_);
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
