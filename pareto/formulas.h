// The formulas of questions and of claims, and how large they become.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "graph/automorphisms.h"
#include "ir/collective.h"
#include "ir/formula.h"
#include "ir/frontier.h"
#include "ir/instance.h"
#include "ir/renumbering.h"
#include "ir/schedule.h"
#include "ir/topology.h"
#include "solvers/proof.h"

namespace chorale {

// One of the two encodings, as the collective needs.
class InstanceEncoding {
 public:
  InstanceEncoding(const Topology& t, const Collective& c, const Budget& horizon,
                   const EncodingOptions& options = {})
      : encoding_(c.combining ? Either(std::in_place_type<ContributionEncoding>, t, c, horizon, options)
                              : Either(std::in_place_type<StepRoundEncoding>, t, c, horizon, options)) {}
  const Formula& formula() const {
    return std::visit([](const auto& e) -> const Formula& { return e.formula(); }, encoding_);
  }
  std::vector<Lit> assume(const Budget& budget) const {
    return std::visit([&](const auto& e) { return e.assume(budget); }, encoding_);
  }
  Schedule decode(const Assignment& model) const {
    return std::visit([&](const auto& e) { return e.decode(model); }, encoding_);
  }

 private:
  using Either = std::variant<StepRoundEncoding, ContributionEncoding>;
  const Either encoding_;
};

// Returns the formula with the budget as unit clauses: what has a proof has no assumptions.
Formula with_units(const InstanceEncoding&, const Budget&);

// Returns the collective of that one chunk.
Collective only(const Collective&, Chunk);
// A budget of `steps` steps with this many rounds that one chunk never waits for a link.
Budget ample(const Topology&, int steps);

// A formula of more clauses is not built: about 700 MB.
inline constexpr double kMostClauses = 1e7;
// About as many as the formula has, from above.
double clauses(const Topology&, const Collective&, const Budget&);

// Returns the formula that a refutation of this claim refutes: full, unsymmetric, its budget (one round less
// than claimed) as unit clauses. Reduce and ReduceScatter are encoded as their duals on the reversed
// topology. A claim that there is no schedule at all is about one chunk of a sum with several destinations,
// with as many rounds as its steps can use. Requires a finite number of steps, a number of rounds over 1,
// and that chunk.
Formula refutable_formula(const Topology&, const Collective&, const Claim&);
// Formula and proof as two files of the folder, named by the formula.
void keep_proof(const std::string& folder, const Formula&, const Refutation&);
// No formula of that size is built; called before, for claims from elsewhere.
bool too_large_to_refute(const Topology&, const Collective&, const Claim&);

// What was found on a machine whose ranks are numbered otherwise, as if it had been found on this one.

// renumbered() (ir/renumbering.h), with its refutations naming the formulas of the machine as it is numbered
// now, which have models if, and only if, the others have. Each schedule is verified. Throws InputError,
// which cites `where`, if one is invalid.
Result verified_renumbering(const Result&, const Renumbering&, const Topology& to, const std::string& where);

// Restrictions: questions whose every answer also answers the unrestricted one, about schedules that are
// regular in some respect. Their formulas are smaller, and mostly some of a machine's good schedules are
// regular. An Unsat of a restriction implies nothing about other schedules.

struct Restriction {
  // Carried to themselves by these.
  std::vector<Automorphism> symmetry = {};
  // Every send brings its chunk nearer to the one rank that needs it.
  bool nearer = false;
  // Chunks that start and end at the same ranks go together, `together` at a time: a schedule of the first of
  // each, repeated `together` times.
  int together = 1;
};

// Returns, for a collective that encodings take, the smallest formulas first; each fits the collective.
std::vector<Restriction> restrictions(const Topology&, const Collective&);

// Returns, of each `together` equal chunks, the first; requires that their numbers are divisible by it.
Collective first_of(const Collective&, int together);
// Returns the schedule of first_of(whole, together) as one of the whole, with `together` times the rounds.
Schedule repeated_for_all(const Topology&, const Collective& whole, int together, Schedule);

}  // namespace chorale
