// Search and check make the formula of a refutation of the same parts, so that its SHA-256 names it to both.
// What it takes to build one is estimated before, since a formula that does not fit in memory cannot be
// refused afterwards.
#include "pareto/formulas.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "construct/engine/solved_question.h"
#include "graph/embedding.h"
#include "ir/error.h"
#include "ir/files.h"
#include "semantics/verify.h"

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

// renumbered() moves ranks, links and chunks, but the hash of a formula cannot be moved: each refuted
// question is formulated on this machine and hashed anew. A file may claim a refutation of a question that
// has no formula, or one too large to be made; these are refused before they are formulated.

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

// The idea: one restriction for every kind of regularity that the question allows, and their products. Which
// groups are worth trying is decided in graph/ (candidate_subgroups); here are those that also carry the
// collective to itself.
//
// Measured on the grid at 16 ranks, where the full formula answers none of these within a minute:
//   dgx1, Allgather (3,7,6)     all symmetries at once: 594 conflicts; half of them: 2,000 to 6,000
//   torus:4x4, AllReduce (4,4,3)   28 conflicts under one group of order 16, none in 500 under others
//   mesh:4x4, Alltoall (6,16,1)    4,265 conflicts if chunks only come nearer, not in 18,960 otherwise
//   torus:4x4, Alltoall (4,24,3)   all three chunks together: the schedule (4,8,1) thrice
// What lost: the split of the rounds over the steps as a restriction of its own. On mesh:4x4 it took 11,000
// conflicts in place of 4,265, and which split it should be is to be guessed.

namespace {

// The most chunks that can go together everywhere.
int most_together(const Collective& collective) {
  int most = 0;
  for (const ChunkClass& each : chunk_classes(collective))
    most = std::gcd(most, static_cast<int>(each.count()));
  return std::max(most, 1);
}

bool each_wanted_once(const Collective& collective) {
  return !collective.combining &&
         std::ranges::all_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() == 1; });
}

}  // namespace

std::vector<Restriction> restrictions(const Topology& topology, const Collective& collective) {
  std::vector<std::vector<Automorphism>> groups = candidate_subgroups(topology, rank_colours(collective));
  std::erase_if(groups, [&](const std::vector<Automorphism>& generators) {
    return !std::ranges::all_of(
        generators, [&](const Automorphism& g) { return induced_chunks(collective, g).has_value(); });
  });
  const int together = most_together(collective);
  const bool nearer = each_wanted_once(collective);
  std::vector<Restriction> result;
  if (together > 1) {
    for (const auto& group : groups)
      result.push_back({.symmetry = group, .nearer = nearer, .together = together});
    result.push_back({.nearer = nearer, .together = together});
  }
  if (nearer)
    for (const auto& group : groups) result.push_back({.symmetry = group, .nearer = true});
  for (const auto& group : groups) result.push_back({.symmetry = group});
  return result;
}

Collective first_of(const Collective& collective, int together) {
  Collective first = collective;
  first.chunks.clear();
  first.chunks_per_block = std::max(1, collective.chunks_per_block / together);
  std::vector<Chunk> kept;
  for (const auto& [pre, post, chunks] : chunk_classes(collective))
    for (std::size_t i = 0; i < chunks.size(); i += together) kept.push_back(chunks[i]);
  std::ranges::sort(kept);
  for (Chunk c : kept) first.chunks.push_back(collective.chunks[c]);
  return first;
}

Schedule repeated_for_all(const Topology& topology, const Collective& whole, int together,
                          Schedule of_first) {
  if (together == 1) return of_first;
  std::map<Chunk, std::vector<Chunk>> packets;  // by the first of them
  for (const auto& [pre, post, chunks] : chunk_classes(whole))
    for (std::size_t i = 0; i < chunks.size(); ++i) packets[chunks[i - i % together]].push_back(chunks[i]);
  // first_of() numbers the chunks that it keeps in the order of their numbers; so does this map.
  Schedule all;
  for (int i = 0; i < together; ++i) {  // the i-th of each packet is where the first of all is
    Embedding ith = identity(topology, whole);
    ith.chunks.clear();
    for (const auto& [first, chunks] : packets) ith.chunks.push_back(chunks[i]);
    all = beside(all, embedded(of_first, ith, topology), topology);
  }
  return tidy(topology, whole, std::move(all));
}

}  // namespace chorale
