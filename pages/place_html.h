// A ranking of placements as one self-contained page: the matrices with their times, and the hierarchy drawn
// with the groups of each step of the chosen strategy. Nothing is loaded from elsewhere.
#pragma once

#include <string>

#include "ir/ranking.h"

namespace chorale {

std::string to_html(const Ranking&);

}  // namespace chorale
