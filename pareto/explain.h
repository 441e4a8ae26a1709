// Why a point is proven, in words for people: which claims close the gap below it. Empty if it is not. Made
// from the claims when it is shown; no file says it.
#pragma once

#include <string>

#include "ir/frontier.h"

namespace chorale {

std::string explain(const Result&, const Point&);

}  // namespace chorale
