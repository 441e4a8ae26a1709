// A schedule as GOAL (Hoefler, Siebert and Lumsdaine 2009), the text that LogGOPSim and ATLAHS simulate: an
// operation per line, and which operations it requires. An operation of no duration joins what a rank does in
// a step, and the sends of its next step require it. LogGOPSim has no links: only its own L, o, g and G
// count.
#pragma once

#include <cstdint>
#include <string>

#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

std::string to_goal(const Verified<Schedule>&, std::int64_t block_bytes);

}  // namespace chorale
