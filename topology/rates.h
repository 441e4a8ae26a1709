// One spelling of the rates of links: a rate is `bandwidth` chunks of one unit, not a unit of its own.
#pragma once

#include "ir/topology.h"

namespace chorale {

// Returns the machine with bandwidths in the ratios of its rates (bandwidth / beta_us_per_byte), where its
// links have several betas: a search counts bandwidths, and would read 300 GB/s in one chunk per round as 25
// GB/s in one. Bandwidths are the smallest integers in these exact ratios, with one beta, if the slowest has
// at most 64 of them; otherwise the smallest within 2 % (fitted, topology/import/fit.h), each beta such that
// the rate stays what it was. A limit has the beta of its links, and may be 4 % off where these are not
// exact. A machine of one beta is returned as it is, and so is one that no integers fit, one with a limit
// over links of several betas, or one with an underlay, which was read from a result.
Topology with_rates_as_bandwidths(const Topology&);

}  // namespace chorale
