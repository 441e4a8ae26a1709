// The receiver-side flow network: what a representative can receive over its entries
// (construct/quotient_instance.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "construct/quotient_instance.h"
#include "graph/max_flow.h"

namespace chorale {

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
