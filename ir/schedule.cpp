#include "ir/schedule.h"

#include <algorithm>

namespace chorale {

int total_rounds(const Schedule& schedule) {
  int rounds = 0;
  for (const Step& step : schedule.steps) rounds += step.rounds;
  return rounds;
}

Schedule reversed(const Schedule& schedule, bool reduce) {
  Schedule result = schedule;
  std::reverse(result.steps.begin(), result.steps.end());
  for (Step& step : result.steps) {
    for (Send& send : step.sends) send.reduce = reduce;
    std::sort(step.sends.begin(), step.sends.end());
  }
  return result;
}

}  // namespace chorale
