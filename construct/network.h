// The engine's model of a machine: ranks, links between them, and what can be full. The links and the shared
// limits are *bins* alike, with a capacity in chunks per round; a send over a link takes room in the link's
// bin and in the bin of each limit over it.
//
// Of a symmetric machine, what can be full up to its symmetries: a bin is an orbit of links or of limits, and
// a send over a link stands for its images under the whole group, one over each link of the orbit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "construct/link_orbits.h"
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
  // Up to a group of symmetries (graph/free_symmetries.h). Nothing where links of different orbits take
  // unequal parts of a limit.
  static std::optional<Network> up_to(const Topology&, std::vector<std::vector<Rank>> group);

  const Topology& topology() const { return topology_; }
  int ranks() const { return topology_.ranks; }
  int links() const { return static_cast<int>(topology_.links.size()); }
  int bins() const { return static_cast<int>(capacity_.size()); }
  double capacity(int bin) const { return capacity_[bin]; }
  Rank src(LinkId l) const { return topology_.links[l].src; }
  Rank dst(LinkId l) const { return topology_.links[l].dst; }

  std::span<const int> bins_of(LinkId l) const { return within(bins_, first_bin_, l); }
  // A link that a limit never lets be full may have none of its own: -1.
  int own_bin(LinkId l) const { return own_bin_[l]; }
  int bin_of_limit(int limit) const { return bin_of_limit_[limit]; }
  // Elements of the group, the identity first, and what they make of a link.
  int order() const { return symmetry_ == nullptr ? 1 : static_cast<int>(symmetry_->group.size()); }
  LinkId image(LinkId l, int element) const { return element == 0 ? l : symmetry_->orbits.image(l, element); }
  // Links out of the rank, and where they lead; backwards: links into it, and where they come from.
  std::span<const Arc> arcs(Rank n, bool backwards) const {
    return backwards ? within(into_, first_into_, n) : within(out_of_, first_out_of_, n);
  }

  // Price of each link: of its own bin and of all limits over it.
  void price_links(std::span<const double> bin_prices, std::vector<double>& prices) const;

 private:
  struct Symmetry {
    Symmetry(const Topology& topology, std::vector<std::vector<Rank>> elements)
        : group(std::move(elements)), orbits(topology, group) {}
    Symmetry(const Symmetry&) = delete;
    std::vector<std::vector<Rank>> group;
    LinkOrbits orbits;  // refers to it
  };

  Network(const Topology&, std::shared_ptr<const Symmetry>);
  void add_arcs();

  template <class T>
  static std::span<const T> within(const std::vector<T>& all, const std::vector<int>& first, int i) {
    return std::span(all).subspan(first[i], first[i + 1] - first[i]);
  }

  const Topology& topology_;
  std::shared_ptr<const Symmetry> symmetry_ = {};  // none: the identity alone
  std::vector<double> capacity_ = {};
  std::vector<int> bins_ = {}, first_bin_ = {}, own_bin_ = {}, bin_of_limit_ = {};
  std::vector<Arc> out_of_ = {}, into_ = {};
  std::vector<int> first_out_of_ = {}, first_into_ = {};
};

}  // namespace chorale
