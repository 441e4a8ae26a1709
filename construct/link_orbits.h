// Links and shared limits of a machine up to a group of symmetries of which only the identity fixes a rank.
//
// Such a group fixes no link either. So if all ranks of an orbit do what their representative does, what goes
// over a link is known of one link of its orbit, and what goes over a limit is the sum over its links.
#pragma once

#include <vector>

#include "ir/topology.h"

namespace chorale {

// The group of a machine whose symmetries are not used.
std::vector<std::vector<Rank>> identity_alone(int ranks);

class LinkOrbits {
 public:
  // Of links together: a limit, or a link by itself, up to symmetry. A send over a link of the orbit, with
  // all that the group makes of it, takes `weight` of the capacity that there is in a round.
  struct Share {
    int bin = 0;
    int weight = 1;
    bool operator==(const Share&) const = default;
  };

  // `group`: permutations of ranks, the identity first (graph/free_symmetries.h); it and the machine must
  // outlive this.
  LinkOrbits(const Topology&, const std::vector<std::vector<Rank>>& group);

  // The first rank of the orbit.
  Rank representative(Rank n) const { return representative_[n]; }
  // Where the group's element carries the link.
  LinkId image(LinkId l, int element) const { return linked(l, group_[element]); }
  // Of all links that the group carries l to, the one into a representative.
  LinkId entering(LinkId l) const { return entering_[l]; }

  const std::vector<long long>& capacities() const { return capacities_; }  // by bin
  int bin_of_limit(int limit) const { return bin_of_limit_[limit]; }
  // By bin. A link has no bin of its own where a limit over it is full no later than the link.
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

}  // namespace chorale
