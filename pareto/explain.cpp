#include "pareto/explain.h"

#include <algorithm>
#include <set>

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
// the result: bounds come before refutations.
std::string closing(const Result& result, CollectiveKind collective, int chunks, int steps, int rounds) {
  Result one;
  one.topology = result.topology;
  one.space = result.space;
  for (const Claim& claim : result.claims) {
    one.claims = {claim};
    if (rounds_left(one, collective, chunks, steps) >= rounds) return words(claim.certificate);
  }
  return "";
}

}  // namespace

std::string explain(const Result& result, const Point& point) {
  if (!point.proven) return "";
  std::set<std::string> kinds;
  const auto note = [&](CollectiveKind kind, int chunks, int steps, int rounds) {
    const std::string words = closing(result, kind, chunks, steps, rounds);
    if (!words.empty()) kinds.insert(words);
  };
  const int steps = point.cost.steps, rounds = point.cost.rounds, chunks = point.cost.chunks;
  std::string text;
  const bool composed = point.method == Method::Composed;
  const bool gathered = point.method == Method::Gathered;
  if (composed) {
    // Its parts are points of their own frontiers; what excludes direct schedules is among the claims too.
    for (const Claim& claim : result.claims)
      if (claim.chunks * result.topology.ranks == chunks && claim.collective != CollectiveKind::AllReduce)
        kinds.insert(words(claim.certificate));
    text = "parts: ";
  } else {
    const CollectiveKind asked = gathered ? CollectiveKind::Allgather : result.collective.kind;
    note(asked, chunks, steps, rounds);
    const std::string fewer = closing(result, asked, chunks, steps - 1, rounds + 1);
    for (const std::string& kind : kinds) text += "rounds: " + kind + "; ";
    return text + "steps: " + (fewer.empty() ? "several claims" : fewer);
  }
  for (const std::string& kind : kinds) text += (text.back() == ' ' ? "" : ", ") + kind;
  return text;
}

}  // namespace chorale
