// A bound for other checkers: the rules of a schedule with one round less than claimed, as a pseudo-Boolean
// formula (OPB), and its refutation by cutting planes in VeriPB's format of proofs (Gocht and Nordstrom, AAAI
// 2021). Each cut that a chunk must enter is a constraint that follows by unit
// propagation (rup); their sum with the rules of bandwidth and rounds is a contradiction (pol).
#pragma once

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/search_options.h"
#include "ir/topology.h"
#include "pareto/proof_folder.h"

namespace chorale {

// The claim for that collective's number of chunks; left out where its certificate is no sum of cuts, or the
// formula is large. Requires a claim that was accepted, and a machine without chosen routes.
void keep_bound(ProofFolder&, int number, const Topology&, const Collective&, const Claim&, PbFormat);

}  // namespace chorale
