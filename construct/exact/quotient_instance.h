// The quotient instance that growth (tree_growth.h) works on: representatives stand for all ranks.
//
// A group acts on ranks such that only the identity fixes one, and on chunks with them. What happens at a
// representative happens, carried over, at all ranks of its orbit; so only what representatives receive is
// decided.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "construct/engine/network.h"
#include "graph/max_flow.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Links, or a shared limit, up to symmetry. What representatives receive over it in a step, each chunk
// counted `weight` times (Entry), is at most capacity * rounds.
struct Bin {
  long long capacity = 1;
  bool split = false;  // several representatives receive over it, or with different weights
};

// Links into a representative that the same bins constrain.
struct Entry {
  using Passed = LinkOrbits::Share;
  std::vector<LinkId> links = {};
  std::vector<Passed> bins = {};  // the one with the fewest links into this representative first
};

struct Pick {  // at the representative to which the link leads, and so at all of its orbit
  Chunk chunk = 0;
  LinkId link = 0;
};

class QuotientInstance {
 public:
  // `group`: permutations of ranks, the identity first (graph/automorphisms.h). More than the identity only
  // for an Allgather. Requires a collective that copies, whose destinations can all be reached.
  QuotientInstance(const Topology&, const Collective&, std::vector<std::vector<Rank>> group);
  QuotientInstance(const QuotientInstance&) = delete;

  const Topology& topology() const { return topology_; }
  const Collective& collective() const { return collective_; }
  int ranks() const { return topology_.ranks; }
  int chunks() const { return static_cast<int>(collective_.chunks.size()); }
  int order() const { return static_cast<int>(group_.size()); }  // of the group

  const std::vector<Rank>& representatives() const { return representatives_; }
  int index_of(Rank u) const { return index_[u]; }  // of its representative
  // The chunk that the representative of u has when u has c.
  Chunk carried_back(Rank u, Chunk c) const {
    if (group_.size() == 1) return c;
    const int copies = collective_.chunks_per_block;
    return back_[static_cast<std::size_t>(u) * ranks() + c / copies] * copies + c % copies;
  }

  // Hops from the nearest rank that starts with the chunk, and hops from there on along shortest paths that
  // lead through u.
  int distance(Chunk c, Rank u) const { return distance_[at(c, u)]; }
  int beyond(Chunk c, Rank u) const { return beyond_[at(c, u)]; }
  int farthest() const { return farthest_; }  // greatest distance of any chunk

  const std::vector<Entry>& entries(int representative) const { return entries_[representative]; }
  const std::vector<Bin>& bins() const { return bins_; }
  // Each bin is at one representative, with one weight, and of two bins that share links one has all of the
  // other's: then what fits is a flow, and representatives are independent.
  bool is_separate() const { return separate_; }

  // Returns the picks of one step for all ranks; rounds as few as they need.
  Step carried_over(const std::vector<Pick>&) const;

 private:
  std::size_t at(Chunk c, Rank u) const { return static_cast<std::size_t>(start_[c]) * ranks() + u; }
  void find_orbits();
  void find_distances();
  // Returns, by representative: the links into it.
  std::vector<std::vector<LinkId>> links_in() const;
  // Marks the bins that are split, and returns which are redundant: of two over the same links of one
  // representative the tighter one implies the other.
  std::vector<bool> find_splits(const std::vector<std::vector<LinkId>>& ways);
  // Returns those links into a representative that the same bins bind, together.
  std::vector<Entry> joined(const std::vector<LinkId>& into, const std::vector<bool>& idle) const;
  // Paths through a bin go on through the same bins, and the bin is at one representative.
  bool nested(const std::vector<Entry>&) const;

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<std::vector<Rank>> group_;
  const LinkOrbits orbits_;
  std::vector<Rank> representatives_ = {};
  std::vector<int> index_ = {};
  std::vector<int> element_ = {};  // that carries the representative to the rank
  std::vector<Rank> back_ = {};    // by rank and rank
  std::vector<int> start_ = {};    // by chunk: which of the different sets of ranks it starts at
  std::vector<std::uint16_t> distance_ = {}, beyond_ = {};  // by start and rank
  int farthest_ = 0;
  std::vector<std::vector<Entry>> entries_ = {};
  std::vector<Bin> bins_ = {};
  bool separate_ = true;
};

// Which chunks representatives have, and since when.
class Holdings {
 public:
  explicit Holdings(const QuotientInstance&);
  // Had any rank it from before the step on. Steps count from 1.
  bool had(Rank u, Chunk c, int step) const {
    return since(quotient_->index_of(u), quotient_->carried_back(u, c)) < step;
  }
  bool lacks(int representative, Chunk c) const { return since(representative, c) == kMissing; }
  void take(int representative, Chunk c, int step) {
    since_[static_cast<std::size_t>(representative) * quotient_->chunks() + c] =
        static_cast<std::uint16_t>(step);
    --missing_;
  }
  long long missing() const { return missing_; }

 private:
  static constexpr std::uint16_t kMissing = 0xFFFF;
  std::uint16_t since(int representative, Chunk c) const {
    return since_[static_cast<std::size_t>(representative) * quotient_->chunks() + c];
  }
  const QuotientInstance* quotient_;
  std::vector<std::uint16_t> since_ = {};
  long long missing_ = 0;
};

// The receiver-side flow network: what a representative can receive over its entries
// (construct/exact/quotient_instance.h).

class ReceiverNetwork {
 public:
  static int nodes(const QuotientInstance&, int representative);  // that it takes
  // Nodes from `first` on; arcs without capacity.
  ReceiverNetwork(const QuotientInstance&, int representative, MaxFlow&, int first, int sink);

  int node_of(int entry) const { return node_of_[entry]; }
  // Sets each bin's capacity to what fits in `rounds` rounds. Call before MaxFlow::run, or after it to
  // increase capacities.
  void set(MaxFlow&, long long rounds) const;
  void widen(MaxFlow&, long long rounds) const;

 private:
  struct Neck {
    int bin = 0;
    int weight = 1;
    int arc = 0;
  };
  long long room(const Neck&, long long rounds) const;
  const QuotientInstance& quotient_;
  std::vector<Neck> necks_ = {};
  std::vector<int> node_of_ = {};
};

}  // namespace chorale
