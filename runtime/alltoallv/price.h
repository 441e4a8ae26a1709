// What a plan of an Alltoallv takes, and what none takes less than.
#pragma once

#include <vector>

#include "ir/alltoallv.h"

namespace chorale {

// Where ranks and NICs of nodes are.
struct NodeLayout {
  explicit NodeLayout(const TwoTiers&);

  int ranks() const { return static_cast<int>(nic.size()); }
  int nodes() const { return static_cast<int>(members.size()); }

  std::vector<std::vector<Rank>> members = {};  // by node, in order
  std::vector<std::vector<int>> nics_of = {};   // by node: its NICs that ranks use
  std::vector<int> node = {};                   // by rank
  std::vector<int> nic = {};                    // by rank: a number among those of all nodes
  int nics = 0;
};

// Bytes of a plan by step, and what they take. Each step with a message takes the latency, and the longest
// of: what a rank sends, and what it receives, within its node; what a NIC sends, and what it receives.
class AlltoallvLoads {
 public:
  AlltoallvLoads(const NodeLayout&, int steps);
  void add(const AlltoallvPiece&);
  double us(const TierRates&) const;  // microseconds

 private:
  // Of one step: out of each rank, into it, out of each NIC, into it.
  std::int64_t* of_step(int step) { return bytes_.data() + static_cast<std::ptrdiff_t>(step) * width_; }
  void within(Rank from, Rank to, int step, std::int64_t bytes);

  const NodeLayout& layout_;
  const int steps_, ranks_, nics_, width_;
  std::vector<std::int64_t> bytes_ = {};
};
double alltoallv_us(const NodeLayout&, const TierRates&, const AlltoallvPlan&);

// Microseconds that no Alltoallv takes less than, whatever the paths: bytes inside a node may leave it by
// NICs and come back. One latency, for the last byte; 0 if nothing moves.
double alltoallv_bound_us(const NodeLayout&, const TierRates&, const ByteCounts&);

NicLoad nic_load(const NodeLayout&, const AlltoallvPlan&);

}  // namespace chorale
