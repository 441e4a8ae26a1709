// What the time of a schedule is of: what runs waits for steps, or for messages alone.
#pragma once

#include "ir/named.h"

namespace chorale {

enum class TimeModel {
  Steps,  // a rank begins a step when all that it sends and receives in the one before is complete
  Events  // a message waits for its data and its links, for nothing else (cost/event_time.h)
};

inline constexpr Named<TimeModel> kTimeModels[] = {{TimeModel::Steps, "steps"},
                                                   {TimeModel::Events, "events"}};

}  // namespace chorale
