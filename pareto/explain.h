// A point's certificate in words, for people: which claims close the gap below it.
#pragma once

#include <string>

#include "ir/frontier.h"

namespace chorale {

std::string explain(const Result&, const Point&);

}  // namespace chorale
