// renumbered() moves ranks, links and chunks, but the hash of a formula cannot be moved: each refuted
// question is formulated on this machine and hashed anew. A file may claim a refutation of a question that
// has no formula, or one too large to be made; these are refused before they are formulated.
#include "pareto/verified_renumbering.h"

#include "ir/error.h"
#include "pareto/formulas.h"
#include "semantics/verify.h"
#include "solvers/proof.h"

namespace chorale {

Result verified_renumbering(const Result& from, const Renumbering& by, const Topology& to,
                            const std::string& where) {
  Result result = renumbered(from, by, to, where);
  for (const Point& point : result.points) {
    const Collective asked = with_chunks(result.collective, point.cost.chunks);
    if (const auto faults = violations(result.topology, asked, point); !faults.empty())
      throw InputError(where, faults.front());
  }
  for (Claim& claim : result.claims) {
    if (claim.certificate.kind != Certificate::Kind::Refutation) continue;
    const Collective of = of_kind(result.collective, claim.collective, claim.chunks);
    if (claim.steps == kAnySteps || claim.steps < 1 || claim.rounds < 2 ||
        claim.certificate.chunk >= std::ssize(of.chunks) || too_large_to_refute(result.topology, of, claim))
      throw InputError(where, "has a refutation of no question", "search again");
    claim.certificate.formula_sha256 = sha256_hex(to_dimacs(refutable_formula(result.topology, of, claim)));
  }
  return result;
}

}  // namespace chorale
