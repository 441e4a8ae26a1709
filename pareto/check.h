// Re-verifies a result from nothing: every schedule by the verifier, every claim by its checker, every
// refutation by solving and checking its proof again (or by the proof that was kept), and that the claims
// show what the points state. docs/trust.md lists what must be trusted.
#pragma once

#include <functional>
#include <string>

#include "ir/formula.h"
#include "ir/search_options.h"

namespace chorale {

// The formula that a refutation is of: the search's.
using RefutedFormula = std::function<Formula(const Topology&, const Collective&, const Claim&)>;
Formula formula_of_the_search(const Topology&, const Collective&, const Claim&);

// Where proofs are kept for checkers of others; "": nowhere.
struct KeptProofs {
  std::string lrat = {};  // of refutations
  std::string pb = {};    // of bounds
  PbFormat pb_format = PbFormat::V2_0;
};

// A refutation is first tried from the plain formula; where that exceeds the limits, the refutation of the
// search's formula is checked. `progress`, if any, is called with what has been checked so far, after every
// point and claim. Tests give a wrong formula instead of the search's.
CheckReport check_result(const Result&, const std::string& proof_dir, const SolveLimits&,
                         const std::function<void(const CheckReport&)>& progress = {},
                         const PlainEffort& = {}, const RefutedFormula& = formula_of_the_search,
                         const KeptProofs& = {});

}  // namespace chorale
