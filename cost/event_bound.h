// A bound in time that no schedule is below, however its messages wait (cost/event_time.h): it counts no
// steps. The largest of
//
//   rate   a bound on rounds per chunk at the fastest link's beta, and after the last byte has left a link
//          the least latency of a link
//   path   of a block from one rank to another: the least latency of a path, and what its bytes take over
//          all links that leave the one, or enter the other, at once. They are busy only after the latency up
//          to them, and only until the latency from them is left: together those of a path at least
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

class EventBound {
 public:
  // Requires a machine without switches. rounds_per_chunk: claimed of any number of steps and chunks; 0: not
  // known.
  EventBound(const Topology&, const Collective& one_chunk, double rounds_per_chunk);
  double us(double block_bytes) const;

 private:
  // A line over the bytes of a block.
  struct Line {
    double us = 0, us_per_byte = 0;
  };
  double call_us_ = 0;
  std::vector<Line> lines_ = {};
};

}  // namespace chorale
