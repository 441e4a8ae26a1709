// Hierarchical composition: schedules of a whole machine from schedules of its groups (ir/outline.h).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "construct/nestings.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/outline.h"
#include "ir/topology.h"

namespace chorale {

// Outlines that make this collective on levels: inner before outer and outer before inner, divided first or
// not. On one level, what all want is divided first. Empty for custom collectives.
std::vector<Outline> outlines_for(const Collective&, const Nesting&);

// A schedule, and what it was composed of.
struct ComposedPoint {
  Point point = {};
  std::string outline = {};
};

struct ComposeQuestion {
  const Topology& topology;  // without switches
  const Collective& collective;
  int extra_rounds = kAnyRounds;            // the k of k-synchronous
  const std::atomic<bool>* stop = nullptr;  // set: what there is by then
  bool quick = false;                       // groups have quick schedules, and a tenth of the work is done
  std::string without = {};                 // a construction (construct/incumbents.h) that groups do without
  // Called with all points found so far whenever one is found, in no order.
  std::function<void(const std::vector<ComposedPoint>&)> found = {};
};

// The schedules that an outline makes of just this collective with just its chunks, by steps, Pareto-optimal
// in (steps, rounds), verified: stages one after the other, and overlapped over chunks. Schedules of groups
// that are not given are constructed (construct/incumbents.h), for whole blocks and for slices of them.
// Throws InputError at `where` ("--outline") if the stages do not make the collective, or a group cannot do
// its phase.
std::vector<ComposedPoint> compose(const ComposeQuestion&, const Outline&, const std::string& where);

// Returns the best of all outlines on the machine as one group and on all of these nestings; empty if nothing
// fits, or if the work is too large (chunks times ranks over 2^18).
std::vector<ComposedPoint> compose_on(const ComposeQuestion&, const std::vector<Nesting>&);

}  // namespace chorale
