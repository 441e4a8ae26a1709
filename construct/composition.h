// Schedules of a whole machine put together of schedules of its groups (ir/outline.h).
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

// What stages make this collective on levels: inner before outer and outer before inner, divided first or
// whole. None of custom ones.
std::vector<Outline> outlines_for(const Collective&, const Nesting&);

// A schedule, and what it was put together of.
struct ComposedPoint {
  Point point = {};
  std::string outline = {};
};

struct ComposeQuestion {
  const Topology& topology;  // without switches
  const Collective& collective;
  int extra_rounds = kAnyRounds;            // the k of k-synchronous
  const std::atomic<bool>* stop = nullptr;  // set: what there is by then
  // Told of all that there is whenever something is found, in no order.
  std::function<void(const std::vector<ComposedPoint>&)> found = {};
};

// The schedules that an outline makes of just this collective with just its chunks, by steps, none better
// than another in both steps and rounds, after the referee: stages one after the other, and overlapped over
// chunks. Parts whose schedules are not given are constructed (construct/incumbents.h), for whole blocks and
// for slices of them. Throws InputError at `where` ("--outline") where the stages do not make the collective,
// or a group cannot do its part.
std::vector<ComposedPoint> compose(const ComposeQuestion&, const Outline&, const std::string& where);

// The best of all outlines on all of these nestings; none where nothing fits, and where it would take long
// (chunks times ranks over 2^18).
std::vector<ComposedPoint> compose_on(const ComposeQuestion&, const std::vector<Nesting>&);

}  // namespace chorale
