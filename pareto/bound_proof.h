// A bound for other checkers: the rules of a schedule, and one round less than claimed, as a pseudo-Boolean
// formula (OPB), and its refutation by cutting planes in VeriPB's format of proofs (Gocht and Nordstrom, AAAI
// 2021). Nothing written here has to be believed: the proof is judged by a checker. What is believed is the
// formula (semantics/linear_formula.h, semantics/payment_formula.h).
#pragma once

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/search_options.h"
#include "ir/topology.h"
#include "pareto/proof_text.h"

namespace chorale {

// Is it shown by what chunks pay in any number of steps? One proof is then enough, also of a claim about any
// number of chunks.
bool is_paid(const Claim&);

// Requires a claim that was accepted, about this collective (with one chunk per block if is_paid() of any
// number of chunks), and a machine without chosen routes.
BoundProof bound_proof(const Topology&, const Collective&, const Claim&, PbFormat);

}  // namespace chorale
