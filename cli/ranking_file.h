// 'check' and 'show' of a file written by 'place --json'.
#pragma once

#include "cli/options.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"

namespace chorale {

// Throws InputError of the first one unless all are asked for.
std::string listed_faults(const CheckCommand&, const std::vector<Fault>&);
Outcome check_ranking_file(const CheckCommand&, Supervisor&);
Outcome show_ranking_file(const ShowCommand&);

}  // namespace chorale
