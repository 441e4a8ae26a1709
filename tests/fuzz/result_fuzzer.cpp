#include <algorithm>

#include "bounds/check.h"
#include "ir/json.h"
#include "ir/sizes.h"
#include "pareto/check.h"
#include "semantics/verify.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {
namespace {

bool is_small(const Claim& claim) {
  const bool searched = claim.certificate.kind == Certificate::Kind::Refutation ||
                        claim.certificate.kind == Certificate::Kind::Growth;
  const bool short_one = claim.steps <= 4 && claim.rounds <= 6;
  // Those that are far too large are undecided at once, and belong here.
  const bool far_too_large = claim.steps > 1'000'000 || claim.rounds > 1'000'000;
  return claim.chunks <= 4 && (!searched || short_one || far_too_large);
}

}  // namespace

void result(std::string_view text) {
  refusing([&] {
    const Result result = result_from_json(text, "input");
    require(result_from_json(to_json(result), "written") == result, "a result does not come back");
    for (const Point& point : result.points)
      if (bytes_of(point.collective) < 1e6) violations(result.topology, point.collective, point.schedule);
    const bool small = result.topology.ranks <= 6 && result.topology.links.size() <= 40 &&
                       result.claims.size() <= 20 && bytes_of(result.collective) < 1e4 &&
                       std::all_of(result.claims.begin(), result.claims.end(), is_small) &&
                       std::all_of(result.points.begin(), result.points.end(), [](const Point& p) {
                         return p.cost.chunks <= 8 && bytes_of(p.collective) < 1e6;
                       });
    if (small) check_result(result, "", {.conflicts = 10});
  });
}

}  // namespace chorale::fuzz
