// Bounds in time with certificates (TimeClaim, ir/frontier.h), for schedules whose messages wait for their
// data and their links alone (cost/event_time.h), and so for those that wait for steps as well.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

class TimeBounds {
 public:
  // Work, in arcs of flow networks: some tenths of a second.
  static constexpr long long kWork = 20'000'000;

  // Requires a machine without switches, and one chunk per block.
  TimeBounds(const Topology&, const Collective& one, long long work = kWork);

  // The strongest that is known for blocks of that size, by a cut or by one of these claims. Of 0 us where
  // there is none.
  TimeClaim strongest(double block_bytes, const std::vector<Claim>&) const;

 private:
  // After some paths of the least latency from some ranks to some others: a flow of `bytes_per_us`, and the
  // sum over its paths of rate times latency. All that flows until T is T bytes_per_us - bytes_late, as long
  // as the next path is longer than T.
  struct Flow {
    double bytes_per_us = 0, bytes_late = 0;
    double next_us = 0;  // latency of the next path
    // By rank, in what is left of the network: the latency from the sources, and, at most 0, from the end
    // back along the flow.
    std::vector<double> distance_us = {}, before_end_us = {};
  };
  struct Demand {
    double blocks = 0;
    std::vector<Rank> to = {};
    std::vector<Flow> flows = {};
    const Flow& flow_for(double bytes) const;
  };
  class Network;

  TimeClaim cut_of(const Demand&, double block_bytes) const;
  TimeClaim rate_of(int number, const Claim&, double block_bytes) const;

  Topology topology_;
  CollectiveKind kind_ = CollectiveKind::Custom;
  std::vector<Demand> demands_ = {};
};

}  // namespace chorale
