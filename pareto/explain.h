// Why a point is proven: which claims close the gap below it. Made from the claims when it is shown; no file
// says it.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Of a proven point: claims that leave nothing better to so many steps, and claims that leave nothing as good
// to fewer. Each closes its part alone; empty where it takes several. A composed point has neither: the parts
// are points of their own frontiers, and all claims about them count.
struct Reasons {
  std::vector<const Claim*> rounds = {};
  std::vector<const Claim*> steps = {};
  std::vector<const Claim*> parts = {};
};
Reasons reasons(const Result&, const Point&);  // none if it is not proven; valid as long as the result

// The same in words for people; empty if it is not proven.
std::string explain(const Result&, const Point&);

}  // namespace chorale
