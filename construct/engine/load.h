// What links and shared limits carry: of one step, or of all routes together.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/topology.h"

namespace chorale {

class Load {
 public:
  explicit Load(const Topology& topology)
      : topology_(topology), links_(topology.links.size(), 0), limits_(topology.limits.size(), 0) {
    limits_of_.resize(topology.links.size());
    for (std::size_t i = 0; i < topology.limits.size(); ++i)
      for (LinkId l : topology.limits[i].links) limits_of_[l].push_back(i);
  }

  void add(LinkId l, int sends = 1) {
    links_[l] += sends;
    for (std::size_t i : limits_of_[l]) limits_[i] += sends;
    changed_.push_back(l);
  }

  // Is there room for one more send over the link within `rounds` rounds?
  bool has_room(LinkId l, long long rounds) const {
    return links_[l] < rounds * topology_.links[l].bandwidth &&
           std::ranges::all_of(limits_of_[l], [&](std::size_t i) {
             return limits_[i] < rounds * topology_.limits[i].bandwidth;
           });
  }

  // Returns the rounds of the link with one more send, and of every limit over it, added up: where traffic
  // had better not go.
  double price(LinkId l) const {
    double sum = (links_[l] + 1.0) / topology_.links[l].bandwidth;
    for (std::size_t i : limits_of_[l]) sum += (limits_[i] + 1.0) / topology_.limits[i].bandwidth;
    return sum;
  }

  // That the fullest link or limit needs; at least 1.
  int rounds() const {
    long long most = 1;
    for (LinkId l : changed_) {
      most = std::max(most, needed(links_[l], topology_.links[l].bandwidth));
      for (std::size_t i : limits_of_[l])
        most = std::max(most, needed(limits_[i], topology_.limits[i].bandwidth));
    }
    return static_cast<int>(most);
  }

  void clear() {  // costs what was added
    for (LinkId l : changed_) {
      links_[l] = 0;
      for (std::size_t i : limits_of_[l]) limits_[i] = 0;
    }
    changed_.clear();
  }

 private:
  static long long needed(long long sends, int bandwidth) { return (sends + bandwidth - 1) / bandwidth; }

  const Topology& topology_;
  std::vector<long long> links_, limits_;
  std::vector<std::vector<std::size_t>> limits_of_ = {};
  std::vector<LinkId> changed_ = {};
};

}  // namespace chorale
