// What no order of nodes can beat.
//
// Two facts are combined. First, what n nodes below a switch send at least, whichever they are
// (placement/order_sets.h). Second, of one communication alone: groups are cut into parts by the switches,
// and parts fit together only if they fill whole groups; a search over multisets of parts, from the leaves
// up, finds the least time.
#pragma once

#include <set>
#include <vector>

#include "placement/node_loads.h"

namespace chorale {

class OrderBound {
 public:
  // `budget`: of elementary steps; beyond it, the bound is weaker.
  OrderBound(const NodeMesh&, const NodeTree&, long long budget = 40'000'000);

  double us() const { return us_; }  // of an iteration
  // False: no order has all communications within these times (us, by traffic).
  bool admits(const std::vector<double>& times) const;
  double alone(int traffic) const { return alone_[traffic]; }

 private:
  using Choices = std::set<std::vector<std::vector<double>>>;  // by link: times of the communications

  std::vector<double> alone_ = {};
  Choices choices_ = {};  // each link has one within the times
  double us_ = 0;
};

}  // namespace chorale
