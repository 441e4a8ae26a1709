// The verifier: the meaning of a schedule, and its faults. Written from the definitions in ir/ alone; it
// shares nothing with the encoder.
//
// State: for every rank and chunk, how often each rank's contribution (combining) or a copy (otherwise) is in
// the value that the rank holds. In a step all sends read the state before the step. A send with `reduce`
// adds, one without replaces; a replacing send happens before the adding ones of the same step and receiver.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Returns everything that is wrong, at most `limit` faults; empty if the schedule performs the collective.
// Wrong is: a chunk, link or number of rounds out of range; a send of what the rank does not hold; the same
// send twice in a step; a link or shared limit over rounds * bandwidth in a step, with what the limit counts
// once by its abilities (ir/topology.h) counted once; a copy that the receiver already has; two copies of a
// chunk to one receiver in one step; a contribution counted twice; a rank of the postcondition without its
// chunk, or with an incomplete sum at the end; and, of sums that are right, an order in which they are added
// up (ir/agreement.h) that is not what the collective asks for (ir/sum_order.h).
std::vector<Fault> violations(const Topology&, const Collective&, const Schedule&, int limit = 10);

// Does performing `done` give every rank what `asked` promises it, from the same input? Compares, for every
// rank and output position, which inputs (rank, position) are summed there how often. Used where another
// collective stands in for the one asked for (gathering everything and adding up locally is an AllReduce).
// Empty if it does.
std::vector<Fault> differences(const Collective& asked, const Collective& done, int limit = 10);

// Returns what is wrong with a point of a result for `asked`, cut into as many chunks as the point states:
// all of the above, and a cost that its schedule does not have. Its claim to be proven is another matter
// (pareto/check.h).
std::vector<Fault> violations(const Topology&, const Collective& asked, const Point&, int limit = 10);

}  // namespace chorale
