// Axes whose sizes are chosen, too: every factorization of the number of devices into sizes for which a
// device has enough memory, each with its best placement.
#pragma once

#include "ir/job_template.h"
#include "ir/place_options.h"

namespace chorale {

// The ranking of the job with the best sizes, by the time of computation plus communication of an iteration,
// one after the other. Ranking::sizes has the `top` best sizes; all that fit were placed and priced, unless
// options.progress ended it (its arguments count sizes, not matrices). A fixed size of the template stays.
// Throws InputError if no sizes multiply to the number of devices and obey all conditions, with the condition
// that forbids the last of them.
Ranking rank_sizes(const Hierarchy&, const JobTemplate&, const PlaceOptions&);

}  // namespace chorale
