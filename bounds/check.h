// Checks certificates. Shares no code with the finders in lower_bounds.cpp: a few shortest-path runs and sums
// over integers, written from the definition of Certificate in ir/frontier.h.
#pragma once

#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// What is wrong with the claim about this collective (its name and chunks must match the claim's; one chunk
// per block where the claim is about any chunk count); none if the certificate shows it. Refutations are not
// checked here (pareto/check.h) and are a fault.
std::optional<Fault> fault(const Topology&, const Collective&, const Claim&);

// What is wrong with a bound in time of a result with these claims, about this collective with one chunk per
// block; none if its cut or its claim shows it (up to 1e-9 of it). Requires links that exist, and claims that
// were read, not that they hold.
std::optional<Fault> fault(const Topology&, const Collective&, const std::vector<Claim>&, const TimeClaim&);

// Returns the rounds per chunk that a Weights, Partition, Trees, Cuts or Entries certificate shows for every
// number of chunks, as a fraction; 0/1 if it shows none. With a single element of prices it holds for every
// number of steps, with an element per step for at most `steps`. `collective` is the one that the claim is
// about.
Rate rate_shown(const Topology&, const Collective&, const Certificate&, int steps = kAnySteps);

// The claim about any chunk count that follows from one about a chunk count, or a weaker one where its
// numbers would be too large; rounds 0 if none follows. `collective` as for rate_shown.
Claim of_any_chunks(const Topology&, const Collective&, const Claim&);

}  // namespace chorale
