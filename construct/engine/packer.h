// What the engine packs: classes of chunks on a network, each by itself or up to the machine's symmetries; as
// fractions of trees first, then whole chunks.
#pragma once

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "construct/engine/network.h"
#include "construct/engine/packing.h"
#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

inline constexpr double kNearFraction = 0.003;  // over what a packing of fractions aims at

// Classes of chunks, and the network that they share.
struct Commodities {
  Network network;
  ClassOrbits classes;
};

// Returns each class by itself. The topology, without switches, must outlive what is returned.
Commodities each_class(const Topology&, const Collective& one);
// Returns one class for all that symmetries of the machine make of it; nothing where there are none, or they
// change what is asked for.
std::optional<Commodities> up_to_symmetry(const Commodities& each);

class Packer {
 public:
  // The commodities, of one chunk per block, must outlive this. `sum`: chunks are added.
  Packer(const Commodities&, bool sum);

  const Commodities& commodities() const { return commodities_; }
  // Counts of chunks per block that can be packed are multiples of it.
  int unit() const { return commodities_.classes.unit; }
  // Work of a sweep over all classes, about.
  long long sweep() const;

  // Packs fractions: low trees, if they come near to the bound (rounds per chunk; 0: not known). Elsewhere as
  // near to it as trees come, then the lowest that come as near; lower ones beside them, for few chunks.
  // `first`: the low trees are yet to be tried.
  void improve(double bound, bool first, long long work, const std::atomic<bool>* stop);
  // Makes it as if it had never been improved.
  void forget();

  bool is_settled() const { return settled_; }  // more work would not improve it
  bool has_trees() const { return !shares_.empty(); }
  double rounds() const { return rounds_; }  // per chunk, of the fractions; 0: there are none
  double hop() const { return hop_; }        // price of a hop of depth of the trees (FractionalPacking)
  // The dual, where fractions stay above the bound; the highest price is a million. Returned once.
  std::optional<Prices> take_prices() { return std::exchange(prices_, std::nullopt); }

  // Whole chunks, `chunks` per block, aiming at `least` rounds.
  ChunkPacking round(int chunks, long long least, WorkBudget&) const;

 private:
  using Shares = std::vector<std::vector<FractionalPacking::Share>>;

  FractionalPacking packing(long long work) const;
  double rounds_of(const FractionalPacking& packing) const { return packing.rounds() / unit(); }
  void use(const FractionalPacking&, double hop);
  Prices whole(const std::vector<double>& bins) const;

  const Commodities& commodities_;
  const bool sum_;
  Shares shares_ = {};  // [class]
  Shares low_ = {};     // for few chunks, if lower trees are not far from these; else empty
  double low_hop_ = 1;
  double rounds_ = 0;
  double hop_ = 1;
  bool settled_ = false;
  std::optional<Prices> prices_ = {};
};

}  // namespace chorale
