// A proof of a bound by growth, for other checkers (pareto/bound_proof.h).
#pragma once

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/search_options.h"
#include "ir/topology.h"
#include "pareto/proof_text.h"

namespace chorale {

// Requires a claim of kind Growth that was accepted, about this collective.
BoundProof growth_proof(const Topology&, const Collective&, const Claim&, PbFormat);

}  // namespace chorale
