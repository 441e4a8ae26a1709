// Checks certificates. Shares no code with the finders in lower_bounds.cpp: a few shortest-path runs and sums
// over integers, written from the definition of Certificate in ir/frontier.h.
#pragma once

#include <optional>

#include "ir/collective.h"
#include "ir/fault.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// What is wrong with the claim about this collective (its name and chunks must match the claim's); none if the
// certificate shows it. Refutations are not checked here (pareto/check.h) and are a fault.
std::optional<Fault> fault(const Topology&, const Collective&, const Claim&);

// rounds per chunk that a Weights, Partition or Entries certificate with one entry of prices shows for every number of
// chunks and steps, as a fraction; 0/1 if it shows none. `collective` is the one that the claim is about.
Rate rate_shown(const Topology&, const Collective&, const Certificate&);

}  // namespace chorale
