// Which claim is the reason is not remembered by the search but found again: each is tried as if it were the
// only one, by the arithmetic of pareto/optimality.h. Only claims about the point's own number of chunks, or
// about any, are tried; the first that closes its gap alone is named. Where it takes several, none does, and
// that is reported.
#include "pareto/explain.h"

#include <set>

#include "ir/words.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

std::string words(const Certificate& certificate) {
  switch (certificate.kind) {
    case Certificate::Kind::Distance:
      return "distance";
    case Certificate::Kind::Weights:
      return certificate.prices.size() == 1 ? "cut or flow bound" : "time-expanded LP bound";
    case Certificate::Kind::Partition:
      return "partition bound";
    case Certificate::Kind::Trees:
      return "bound of trees";
    case Certificate::Kind::Cuts:
      return "cuts in time";
    case Certificate::Kind::Entries:
      return "bound of late entries";
    case Certificate::Kind::Growth:
      return "growth bound";
    case Certificate::Kind::Refutation:
      return "refutation " + certificate.formula_sha256.substr(0, 8);
    case Certificate::Kind::None:
      break;
  }
  return "nothing";
}

// The first claim that alone leaves nothing better than `rounds` with at most `steps` steps, in the order of
// the result: bounds come before refutations. A result of one claim in the same space is all that it takes to
// ask.
std::vector<const Claim*> closing(const Result& result, CollectiveKind collective, int chunks, int steps,
                                  int rounds) {
  Result one;
  one.topology = result.topology;
  one.space = result.space;
  for (const Claim& claim : result.claims) {
    if (result.space.max_chunks == kAnyChunks && !claim.any_chunks) continue;
    one.claims = {claim};
    if (rounds_left(one, collective, chunks, steps) >= rounds) return {&claim};
  }
  return {};
}

std::string kinds(const std::vector<const Claim*>& claims) {
  std::set<std::string> names;
  for (const Claim* claim : claims) names.insert(words(claim->certificate));
  return joined({names.begin(), names.end()});
}

}  // namespace

Reasons reasons(const Result& result, const Point& point) {
  Reasons reasons;
  if (!point.proven) return reasons;
  const int steps = point.cost.steps, rounds = point.cost.rounds, chunks = point.cost.chunks;
  // Of any chunk count it is a direct schedule like others.
  if (point.method == Method::Composed && result.space.max_chunks != kAnyChunks) {
    for (const Claim& claim : result.claims)
      if (speaks_of(claim, claim.collective, chunks / result.topology.ranks) &&
          claim.collective != CollectiveKind::AllReduce)
        reasons.parts.push_back(&claim);
    return reasons;
  }
  const CollectiveKind asked =
      point.method == Method::Gathered ? CollectiveKind::Allgather : result.collective.kind;
  // Proven (docs/bounds.md) has two parts: as few steps take no fewer rounds, and fewer steps take more.
  reasons.rounds = closing(result, asked, chunks, steps, rounds);
  if (steps > 0) reasons.steps = closing(result, asked, chunks, steps - 1, rounds + 1);
  return reasons;
}

std::string explain(const Result& result, const Point& point) {
  if (!point.proven) return "";
  const Reasons because = reasons(result, point);
  if (!because.parts.empty()) return "parts: " + kinds(because.parts);
  if (point.cost.steps == 0) return "nothing has to be sent";
  return (because.rounds.empty() ? "" : "rounds: " + kinds(because.rounds) + "; ") +
         "steps: " + (because.steps.empty() ? "several claims" : kinds(because.steps));
}

}  // namespace chorale
