// Why a point is proven: which claims it rests on. Computed from the claims when it is shown; not stored in
// files.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// For a proven point: claims by which as few steps take no fewer rounds per chunk, and claims by which fewer
// steps take more. Each of the two is enough for its part, and is not without any one of its claims; nor are
// both together for the whole. Where there is a choice, the first claims of the result: bounds come before
// refutations.
struct Reasons {
  std::vector<const Claim*> rounds = {};
  std::vector<const Claim*> steps = {};
};
Reasons reasons(const Result&, const Point&);  // none if it is not proven; valid as long as the result

// The same in words for people; empty if it is not proven.
std::string explain(const Result&, const Point&);

}  // namespace chorale
