// Which claims a point rests on is not remembered by the search but derived: claims are left out, and what
// the others still show is asked of the arithmetic that marked the point (pareto/optimality.h). So what is
// named is needed, beside the others that are named, and what is not named is not.
//
// What lost: the first claim that alone excludes fewer rounds, of the point's own number of chunks. "3 steps
// are impossible" does so where a whole round per step is counted, and shows no rate of any chunk count.
#include "pareto/explain.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/words.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

constexpr std::ptrdiff_t kMostRefutationsNamed = 3;

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

// Those of the claims that are enough for what `holds` asks of a result, so that none of them can be left
// out: each is left out in turn, the last first, where the others are enough. Requires that all together are.
template <typename Holds>
std::vector<const Claim*> carrying(const Result& result, std::vector<const Claim*> claims,
                                   const Holds& holds) {
  // The fields that the arithmetic reads: certificates may be large.
  Result some{.kind = result.kind, .space = result.space};
  some.topology.ranks = result.topology.ranks;
  some.collective.kind = result.collective.kind;
  const auto enough = [&](const std::vector<const Claim*>& left) {
    some.claims.clear();
    for (const Claim* claim : left)
      some.claims.push_back({.collective = claim->collective,
                             .chunks = claim->chunks,
                             .any_chunks = claim->any_chunks,
                             .steps = claim->steps,
                             .rounds = claim->rounds,
                             .certificate = {.kind = claim->certificate.kind}});
    return holds(some);
  };
  for (auto last = std::ssize(claims); last-- > 0;) {
    std::vector<const Claim*> fewer = claims;
    fewer.erase(fewer.begin() + last);
    if (enough(fewer)) claims = std::move(fewer);
  }
  return claims;
}

std::string kinds(const std::vector<const Claim*>& claims) {
  std::set<std::string> names;
  std::vector<std::string> refutations;
  for (const Claim* claim : claims)
    if (claim->certificate.kind == Certificate::Kind::Refutation)
      refutations.push_back(words(claim->certificate));
    else
      names.insert(words(claim->certificate));
  if (std::ssize(refutations) > kMostRefutationsNamed)
    refutations = {counted(std::ssize(refutations), "refutation")};
  names.insert(refutations.begin(), refutations.end());
  return joined({names.begin(), names.end()});
}

}  // namespace

// Proven (docs/bounds.md) has two parts: as few steps take no fewer rounds, and fewer steps take more. Of
// what carries both, each part takes its own: so what is named for one part is not what the other could
// replace.
Reasons reasons(const Result& result, const Point& point) {
  if (!point.proven) return {};
  const int steps = point.cost.steps;
  const Rate rate = {.rounds = point.cost.rounds, .chunks = point.cost.chunks};
  const auto no_fewer_rounds = [&](const Result& some) {
    return !less(least_rate(some, point, steps), rate);
  };
  const auto no_fewer_steps = [&](const Result& some) {
    return steps == 0 || less(rate, least_rate(some, point, steps - 1));
  };
  std::vector<const Claim*> all;
  for (const Claim& claim : result.claims) all.push_back(&claim);
  all = carrying(result, std::move(all),
                 [&](const Result& some) { return no_fewer_rounds(some) && no_fewer_steps(some); });
  return {.rounds = carrying(result, all, no_fewer_rounds), .steps = carrying(result, all, no_fewer_steps)};
}

std::string explain(const Result& result, const Point& point) {
  if (!point.proven) return "";
  if (point.cost.steps == 0) return "nothing has to be sent";
  const auto [rounds, steps] = reasons(result, point);
  return "rounds: " + kinds(rounds) + "; steps: " + kinds(steps);
}

}  // namespace chorale
