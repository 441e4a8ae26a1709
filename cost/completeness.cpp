#include "cost/completeness.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/cost.h"

namespace chorale {
namespace {

bool has_limits(const Space& space) {
  return space.min_chunks > 1 || space.max_chunks != kAnyChunks || space.max_steps != kAnySteps ||
         space.max_rounds != kAnyRounds || space.extra_rounds != kAnyRounds;
}

}  // namespace

// More than the fewest chunks exclude nothing: a schedule's chunks can be cut, at the same time. They count
// as a limit nevertheless, since that is not what the claims state.
Completeness completeness(const Result& result) {
  if (!result.complete) return Completeness::Open;
  const bool of_all = result.kind == ResultKind::Frontier && !has_limits(result.space);
  return of_all && links_alike(result.topology) ? Completeness::Time : Completeness::StepsAndRounds;
}

std::string completeness_in_words(const Result& result) {
  switch (completeness(result)) {
    case Completeness::Open:
      return "";
    case Completeness::Time:
      return "complete, no schedule is faster";
    case Completeness::StepsAndRounds:
      break;
  }
  return fmt::format("complete in steps and rounds per chunk; in time not, since {}",
                     links_alike(result.topology) ? "chunks, steps or rounds were limited"
                                                  : "links differ in latency or rate");
}

bool meets_bound(double us, double bound_us) {
  return us <= bound_us * (1 + 1e-9);
}

std::string share_of_bound(double us, double bound_us) {
  if (!(us > 0) || !(bound_us > 0)) return "-";
  if (meets_bound(us, bound_us)) return "100.0 %";
  return fmt::format("{:.1f} %", std::min(99.9, 100 * bound_us / us));
}

}  // namespace chorale
