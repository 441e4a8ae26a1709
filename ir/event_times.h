// When each send of a schedule runs if messages drive it: a message waits for its data and for the links and
// limits that carry it, and for nothing else. Steps then only fix an order (cost/event_time.h has the rules).
#pragma once

#include <vector>

#include "ir/schedule.h"

namespace chorale {

// Microseconds from the start of the collective, the call (Topology::call_us) left out.
struct SendTimes {
  int step = 0;  // of the schedule, from 0
  Send send = {};
  double begin_us = 0;  // the first of its link and limits begins to carry it
  double left_us = 0;   // the last of them has carried it
  double there_us = 0;  // the receiver has it
  bool operator==(const SendTimes&) const = default;
};

// A send of the critical path, and what it waited for.
struct CriticalSend {
  enum class Wait {
    Nothing,  // the first one: its data are there from the start
    Data,     // what the send before it brings
    Link,     // its link carries the send before it
    Limit     // its limit does
  };
  int send = 0;  // of EventTimes::sends
  Wait wait = Wait::Nothing;
  int limit = -1;      // of the machine; Wait::Limit alone
  double from_us = 0;  // its link, or the limit that delays it most, begins to carry it
  bool operator==(const CriticalSend&) const = default;
};

struct EventTimes {
  std::vector<SendTimes> sends = {};  // by step, then as the step has them
  double us = 0;                      // of the whole: a call, and until the last arrival
  // A chain of sends that ends with the last arrival, in the order of time. Without any gap: each begins when
  // the one before is there, or has left what both use. So nothing is faster unless one of them is.
  std::vector<CriticalSend> critical = {};
  bool operator==(const EventTimes&) const = default;
};

}  // namespace chorale
