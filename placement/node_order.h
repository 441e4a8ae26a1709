// The order of a job's nodes on an allocation that takes the least time.
#pragma once

#include "ir/node_order.h"

namespace chorale {

// The mesh of the job's axes is laid over the hosts so that its communications take the least time over the
// links of the switches, and of such orders, as far as a local search finds it, the one with the fewest bytes
// between switches. Proven if the time meets the bound (placement/order_bound.h), if what it admits below the
// time does not fit the slices of a line, or if an exhaustive search ends within OrderQuestion::nodes. The
// same question has the same answer. Throws InputError if the job does not have one node per host.
NodeOrder best_order(const Allocation&, const OrderQuestion&);

// The time of that order of the allocation's hosts (places in Allocation::hosts, by node), and of its
// communications.
OrderTime time_of_order(const Allocation&, const OrderQuestion&, const std::vector<int>& order);

}  // namespace chorale
