// How long a schedule or program should take (cost/program_time.h).
#pragma once

#include <string>

namespace chorale {

struct ProgramTime {
  double us = 0;
  double busiest_us = 0;      // how long the busiest link or limit is in use: no order of transfers beats it
  std::string busiest = {};   // "link 0 -> 1", "limit out of 3"; empty if nothing is sent
  bool links_chosen = false;  // of several between two ranks, since the program names none
};

}  // namespace chorale
