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

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// Links and shared limits of a machine up to a group of symmetries of which only the identity fixes a rank.
//
// Such a group fixes no link either. So if all ranks of an orbit do what their representative does, what goes
// over a link is known of one link of its orbit, and what goes over a limit is the sum over its links.

// The group of a machine whose symmetries are not used.
std::vector<std::vector<Rank>> identity_alone(int ranks);

class LinkOrbits {
 public:
  // What a send takes of links together: a limit, or a link by itself, up to symmetry. A send over a link of
  // the orbit, with all that the group makes of it, takes `weight` of the capacity that there is in a round.
  struct Share {
    int bin = 0;
    int weight = 1;
    bool operator==(const Share&) const = default;
  };

  // `group`: permutations of ranks, the identity first (graph/automorphisms.h); it and the machine must
  // outlive this.
  LinkOrbits(const Topology&, const std::vector<std::vector<Rank>>& group);

  // Returns the first rank of the orbit.
  Rank representative(Rank n) const { return representative_[n]; }
  // Where the group's element carries the link.
  LinkId image(LinkId l, int element) const { return linked(l, group_[element]); }
  // Of all links that the group carries l to, the one into a representative.
  LinkId entering(LinkId l) const { return entering_[l]; }

  const std::vector<long long>& capacities() const { return capacities_; }  // by bin
  int bin_of_limit(int limit) const { return bin_of_limit_[limit]; }
  // Returns the shares by bin. A link has no bin of its own where a limit over it is full no later than the
  // link.
  const std::vector<Share>& shares(LinkId l) const { return shares_[entering_[l]]; }

 private:
  LinkId linked(LinkId l, const std::vector<Rank>& ranks) const;
  void find_orbits();
  void share_limits();
  void share_links();

  const Topology& topology_;
  const std::vector<std::vector<Rank>>& group_;
  std::vector<LinkId> sorted_ = {};  // by ends, width and price; of equal ones by number
  std::vector<int> place_ = {};      // by link: among the equal ones
  std::vector<int> first_ = {};      // by source: of its links among the sorted
  std::vector<Rank> representative_ = {};
  std::vector<LinkId> entering_ = {};
  std::vector<long long> capacities_ = {};
  std::vector<int> bin_of_limit_ = {};
  std::vector<std::vector<Share>> shares_ = {};  // by link into a representative
};

// Classes of chunks up to a group of symmetries: what one of an orbit does, its images do alike.

struct ClassOrbits {
  // What an element of the group makes of a representative. Where several make the same class of it, its
  // chunks take turns.
  struct Image {
    int of = 0;     // class
    int place = 0;  // among the elements that carry the representative there
  };

  std::vector<ChunkClass> representatives = {};
  std::vector<std::vector<Image>> images = {};  // [representative][element of the group]
  // Elements that carry a class to itself. A chunk of the representative stands for as many of each class.
  int unit = 1;

  // Of all chunks of a class, the one that an element makes of the representative's.
  std::size_t number(std::size_t of_representative, const Image& image) const {
    return of_representative * unit + image.place;
  }
};

// `group`: permutations of ranks, the identity first. Nothing where an element carries a class to none of the
// same number of chunks, or where more elements carry one class to itself than another.
std::optional<ClassOrbits> class_orbits(const std::vector<ChunkClass>&,
                                        const std::vector<std::vector<Rank>>& group);

class Network {
 public:
  struct Arc {
    LinkId link = 0;
    Rank to = 0;
  };

  // Requires a topology without switches, which must outlive this.
  explicit Network(const Topology&);
  // Up to a group of symmetries (graph/automorphisms.h). Nothing where links of different orbits take
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
  // Returns the links out of the rank, and where they lead; backwards: links into it, and where they come
  // from.
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
