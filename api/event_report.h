// A schedule on a time axis, where messages drive it: what each link carries when, and the chain of messages
// that takes as long as the whole.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/frontier.h"
#include "ir/report.h"

namespace chorale {

// Returns the point that is the fastest by events for messages of that size (cost/busbw.h); -1 without
// points.
int fastest_by_events(const Result&, std::int64_t message_bytes);

// Returns its times by events and by steps; the critical path, with what each message waited for; and the
// busiest links on an axis, as text and as a figure. Requires a point of the result.
Report event_report(const Result&, int point, std::int64_t message_bytes);

}  // namespace chorale
