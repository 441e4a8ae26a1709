// Why a point is proven: which claims close the gap below it. Computed from the claims when it is shown; not
// stored in files.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// For a proven point: claims that leave nothing better with as many steps, and claims that leave nothing as
// good with fewer. Each closes its part alone; empty where it takes several. A composed point has neither:
// its phases are points of their own frontiers, and all claims about them count.
struct Reasons {
  std::vector<const Claim*> rounds = {};
  std::vector<const Claim*> steps = {};
  std::vector<const Claim*> parts = {};
};
Reasons reasons(const Result&, const Point&);  // none if it is not proven; valid as long as the result

// The same in words for people; empty if it is not proven.
std::string explain(const Result&, const Point&);

}  // namespace chorale
