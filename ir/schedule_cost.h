// What a schedule costs, counted from its steps.
#pragma once

#include "ir/frontier.h"
#include "ir/schedule.h"

namespace chorale {

// `chunks`: per block, of the collective that it is of.
inline Cost cost_of(const Schedule& schedule, int chunks) {
  return {
      .steps = static_cast<int>(schedule.steps.size()), .rounds = total_rounds(schedule), .chunks = chunks};
}

}  // namespace chorale
