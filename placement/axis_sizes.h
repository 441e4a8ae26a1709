// Axes whose sizes are chosen, too: every way to write the number of devices as a product of them that a
// device has room for, each with its best placement.
#pragma once

#include "ir/job_template.h"
#include "ir/place_options.h"

namespace chorale {

// The ranking of the job with the best sizes, by the sum of what is computed and communicated in an
// iteration, one after the other. Ranking::sizes has the `top` best sizes; all that fit were placed and
// priced, unless options.progress ended it (it is told of sizes, not of matrices). A fixed size of the
// template stays. Throws InputError where no sizes multiply to the number of devices and obey all conditions,
// with what forbids the last of them.
Ranking rank_sizes(const Hierarchy&, const JobTemplate&, const PlaceOptions&);

}  // namespace chorale
