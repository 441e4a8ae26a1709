// The text that chorale place prints for a ranking.
#pragma once

#include <string>

#include "ir/ranking.h"

namespace chorale {

// The job, the choices of sizes if there were any, a table of the matrices, and under it the strategies of
// each with their groups. `explain`: with the time of every step, and what binds it.
std::string in_words(const Ranking&, bool explain);

}  // namespace chorale
