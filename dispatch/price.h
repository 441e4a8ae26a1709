// What a plan of an Alltoallv takes, and what none takes less than.
#pragma once

#include "dispatch/layout.h"

namespace chorale {

// Microseconds. Each step with a message takes the latency, and the longest of: what a rank sends, and what
// it receives, within its node; what a NIC sends, and what it receives.
double alltoallv_us(const NodeLayout&, const TierRates&, const AlltoallvPlan&);

// Microseconds: by cuts around each node and around each rank, without latency. What stays in a node crosses
// no NIC.
double alltoallv_bound_us(const NodeLayout&, const TierRates&, const ByteCounts&);

NicLoad nic_load(const NodeLayout&, const AlltoallvPlan&);

}  // namespace chorale
