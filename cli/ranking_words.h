// The text that chorale place prints for a ranking.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/ranking.h"

namespace chorale {

// The job, the choices of sizes if there were any, a table of the matrices, and under it the strategies of
// each with their groups. `explain`: with the time of every step, and what binds it.
std::string in_words(const Ranking&, bool explain);

// 'check' and 'show' of a file written by 'place --json'.

// Throws InputError of the first one unless all are asked for.
std::string listed_faults(const CheckCommand&, const std::vector<Fault>&);
Outcome check_ranking_file(const CheckCommand&, Supervisor&);
Outcome show_ranking_file(const ShowCommand&);

}  // namespace chorale
