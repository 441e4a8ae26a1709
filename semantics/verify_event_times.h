// The verifier of times by events (ir/event_times.h): does each send wait for what it needs, and do links and
// limits carry no more than they can? Written from that definition; it knows neither the replay that finds
// times (cost/event_time.h) nor what makes schedules for them (construct/events.h).
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/event_times.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Returns what is wrong with times of a schedule that is right by itself (semantics/verify.h), at most
// `limit` faults. Wrong is: another list of sends than the schedule's; a send that begins before all is there
// that earlier steps bring of its chunk to its rank, that leaves sooner than its link and each of its limits
// can carry it, or that is there sooner than its latency after that; a link or limit that cannot carry all of
// its sends, each between its begin and its leaving, at its rate; and a time of the whole that is not that of
// the call and the last arrival. What a limit counts once (counted_as, ir/schedule.h) it carries once, when
// all of these sends have begun and before the first has left.
std::vector<Fault> violations(const Topology&, const Schedule&, const EventTimes&, double chunk_bytes,
                              int limit = 10);

}  // namespace chorale
