// The strategy of a reduction (placement/) as a schedule for one custom collective over all devices, so that
// it is verified, lowered and emitted as any other.
#pragma once

#include <optional>

#include "ir/placement.h"
#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

// More are not listed: an AllReduce in one group of 256 devices takes as many.
inline constexpr long long kMostStrategySends = 130'560;

// Rank r is device r. The vector of a group of the reduction is a block, cut into as many chunks as the
// strategy needs, and a chunk has its position in it for input and output. An operation in groups is one or
// two steps of direct exchange on a machine that links each pair that communicates: an AllReduce a
// ReduceScatter and an AllGather, a Reduce a ReduceScatter and a Gather, a Broadcast a Scatter and an
// AllGather.
//
// None if it takes more than kMostStrategySends. Requires steps, as lowered for this many devices, and a goal
// that they reach: AllReduce, ReduceScatter or AllGather.
std::optional<Verified<Schedule>> strategy_schedule(const Reduction&, const DeviceGroups& of_reduction,
                                                    const LoweredStrategy& steps, int devices);

}  // namespace chorale
