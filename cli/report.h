// Results as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/report.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// "dgx1, allgather: 8 ranks, 32 links; 1 to 6 chunks per block".
std::string heading(const Result&);

// "1 chunk", "1 to 6 chunks".
std::string chunk_counts(const Space&);

// The chosen points, one a line, with the number that --point takes. Beside the whole frontier, also points
// that are beaten in steps and rounds but are the fastest at some size, since links differ. What is the
// fastest at the sizes that were asked for is always among them.
std::string points_table(const Result&, std::vector<int> chosen, const BestSizes&,
                         const std::vector<SizeRow>& = {});

// The bound on all schedules, of any steps and chunks, and whether the result reaches it; "" if there is no
// such claim.
std::string bound_line(const Result&);

// Which point is the fastest at each size, and how far from the bound; `asked`: the number of sizes
// requested; the rest were not timed.
std::string sizes_table(const Result&, const std::vector<SizeRow>&, std::size_t asked);
std::string sizes_json(const Result&, const std::vector<SizeRow>&);

// Openings, a line each: incumbent, bound and gap in rounds per chunk, by steps.
std::string openings_in_words(const Result&);

// The point with the fewest rounds per chunk; null if there is none.
const Point* fastest_rate(const Result&);

// Every step: its rounds, and for each link its chunks.
std::string schedule_text(const Topology&, const Point&);

// "; a call costs 6.6 us"; nothing, where it costs nothing.
std::string call_in_words(double call_us);

}  // namespace chorale
