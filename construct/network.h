// The engine's model of a machine: ranks, links between them, and what can be full. The links and the shared
// limits are *bins* alike, with a capacity in chunks per round; a send over a link takes room in the link's
// bin and in the bin of each limit over it.
#pragma once

#include <span>
#include <vector>

#include "ir/topology.h"

namespace chorale {

class Network {
 public:
  struct Arc {
    LinkId link = 0;
    Rank to = 0;
  };

  // Requires a topology without switches, which must outlive this.
  explicit Network(const Topology&);

  const Topology& topology() const { return topology_; }
  int ranks() const { return topology_.ranks; }
  int links() const { return static_cast<int>(topology_.links.size()); }
  // The first links() bins are the links.
  int bins() const { return static_cast<int>(capacity_.size()); }
  double capacity(int bin) const { return capacity_[bin]; }
  Rank src(LinkId l) const { return topology_.links[l].src; }
  Rank dst(LinkId l) const { return topology_.links[l].dst; }

  std::span<const int> bins_of(LinkId l) const { return within(bins_, first_bin_, l); }
  // Links out of the rank, and where they lead; backwards: links into it, and where they come from.
  std::span<const Arc> arcs(Rank n, bool backwards) const {
    return backwards ? within(into_, first_into_, n) : within(out_of_, first_out_of_, n);
  }

  // Price of each link: of its own bin and of all limits over it.
  void price_links(std::span<const double> bin_prices, std::vector<double>& prices) const;

 private:
  template <class T>
  static std::span<const T> within(const std::vector<T>& all, const std::vector<int>& first, int i) {
    return std::span(all).subspan(first[i], first[i + 1] - first[i]);
  }

  const Topology& topology_;
  std::vector<double> capacity_ = {};
  std::vector<int> bins_ = {}, first_bin_ = {};
  std::vector<Arc> out_of_ = {}, into_ = {};
  std::vector<int> first_out_of_ = {}, first_into_ = {};
};

}  // namespace chorale
