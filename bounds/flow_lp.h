// Bounds from linear programs of flows.
//
// Demands flow at once, as fractions; what a schedule sends is such a flow, so the least time of a flow
// bounds every schedule. The program's duals are prices of links and limits, and these are the certificate.
//
//   static  minimise T: flow over l <= T * bandwidth of l. The maximum concurrent flow problem.
//   timed   minimise sum of r_s: the same on the time-expanded graph, (rank, step) to (rank, step + 1), with
//           flow over l in step s <= r_s * bandwidth of l.
//
// Demands with equal sources share one commodity, or those with equal destinations if that makes fewer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bounds/colour_refinement.h"
#include "bounds/demand.h"

namespace chorale {

class FlowProgram {
 public:
  // `steps` > 0: timed. Every demand's destination must be in reach, within the steps.
  FlowProgram(const Topology&, const std::vector<Demand>&, int steps);

  // Columns that the program will have at most; `build` it only if that is bearable.
  std::int64_t size() const;
  void build();

  // Programs of equal signature have equal optima. Requires build().
  std::uint64_t signature() const { return colouring_.signature; }
  // Returns the dual solution as integers; empty if the solver gave up. Requires build().
  std::vector<Prices> prices() const;

 private:
  // Flow from any rank of `hub`, at any time, to each of `ends`, where any rank of the set may take it.
  struct Commodity {
    RankSet hub = {};
    std::vector<std::pair<RankSet, std::int64_t>> ends = {};
  };
  class Builder;

  // Flows to one destination are those from it with all links and steps reversed.
  Node tail(LinkId l) const { return turned_ ? topology_.links[l].dst : topology_.links[l].src; }
  Node head(LinkId l) const { return turned_ ? topology_.links[l].src : topology_.links[l].dst; }
  int step_of(int layer) const { return turned_ ? layers_ - 1 - layer : layer; }
  std::vector<int> distances(const RankSet& from, bool backwards) const;
  void add_capacities();

  const Topology& topology_;
  const bool timed_;
  const int layers_;  // of links: the steps, or one
  bool turned_ = false;
  std::int64_t unit_ = 0;  // amounts are counted in it
  std::vector<Commodity> commodities_ = {};
  std::vector<std::vector<int>> limits_of_ = {};  // by link
  LinearProgram program_ = {};
  Colouring colouring_ = {};
};

}  // namespace chorale
