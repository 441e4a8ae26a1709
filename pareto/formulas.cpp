// Search and check make the formula of a refutation of the same parts, so that its SHA-256 names it to both.
// What it takes to build one is estimated before, since a formula that does not fit in memory cannot be
// refused afterwards.
#include "pareto/formulas.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "construct/solved_question.h"
#include "ir/files.h"

namespace chorale {

Formula with_units(const InstanceEncoding& encoding, const Budget& budget) {
  Formula formula = encoding.formula();
  for (Lit lit : encoding.assume(budget)) formula.add({lit});
  return formula;
}

Collective only(const Collective& collective, Chunk chunk) {
  Collective one = collective;
  one.chunks = {collective.chunks[chunk]};
  return one;
}

// A chunk crosses each link at most once in a step. So alone it fills a limit at most once with each of its
// links, and needs rounds only where these are more than the limit's bandwidth.
Budget ample(const Topology& topology, int steps) {
  std::size_t rounds = 1;
  for (const SharedLimit& limit : topology.limits)
    rounds = std::max(rounds, (limit.links.size() + limit.bandwidth - 1) / limit.bandwidth);
  return {.steps = steps, .rounds = steps * static_cast<int>(rounds)};
}

// Of the counters of links and limits, and of rounds, which are most of a formula; of the values of ranks,
// which are where links are few; and of the parts of sums, by chunk, link, step and contribution.
double clauses(const Topology& topology, const Collective& collective, const Budget& budget) {
  const double chunks = static_cast<double>(collective.chunks.size()), rounds = budget.rounds;
  double step = rounds * rounds + chunks * topology.ranks;
  const auto count = [&](double links, int bandwidth) {
    step += links * chunks * std::min(links * chunks, bandwidth * rounds + 1);
  };
  for (const Link& link : topology.links) count(1, link.bandwidth);
  for (const SharedLimit& limit : topology.limits)
    count(static_cast<double>(limit.links.size()), limit.bandwidth);
  if (collective.combining) step += chunks * static_cast<double>(topology.links.size()) * topology.ranks;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c)
    if (asks_order(collective, c))
      step += topology.ranks * std::pow(static_cast<double>(collective.chunks[c].pre.size()), 3) / 2;
  return step * budget.steps;
}

Formula refutable_formula(const Topology& topology, const Collective& collective, const Claim& claim) {
  const auto formula = [&](const Topology& on, const Collective& of, const Budget& budget) {
    return with_units(InstanceEncoding(on, of, budget), budget);
  };
  if (claim.rounds == kNoSchedule)
    return formula(topology, only(collective, claim.certificate.chunk), ample(topology, claim.steps));
  const SolvedQuestion solved(topology, collective);
  return formula(solved.topology, solved.collective, {.steps = claim.steps, .rounds = claim.rounds - 1});
}

void keep_proof(const std::string& folder, const Formula& formula, const Refutation& refutation) {
  const std::filesystem::path path = std::filesystem::path(folder) / refutation.formula_sha256;
  write_file(path.string() + ".cnf", to_dimacs(formula));
  write_file(path.string() + ".drat", refutation.proof);
}

bool too_large_to_refute(const Topology& topology, const Collective& collective, const Claim& claim) {
  if (claim.rounds != kNoSchedule)
    return clauses(topology, SolvedQuestion(topology, collective).collective,
                   {.steps = claim.steps, .rounds = claim.rounds - 1}) > kMostClauses;
  const Collective one = only(collective, claim.certificate.chunk);
  if (clauses(topology, one, {.steps = claim.steps, .rounds = claim.steps}) > kMostClauses) return true;
  return clauses(topology, one, ample(topology, claim.steps)) > kMostClauses;
}

}  // namespace chorale
