// Results as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "ir/frontier.h"

namespace chorale {

// "dgx1, allgather: 8 ranks, 32 links; 1 to 6 chunks a block".
std::string heading(const Result&);

// The chosen points, one a line, with the number that --point takes.
std::string points_table(const Result&, const std::vector<int>& chosen, const SizeModel&);

// What no schedule can beat, whatever its steps and chunks, and whether the result reaches it; "" if no claim
// says so.
std::string bound_line(const Result&);

// Which point is the fastest at each size, and how far from the bound.
std::string sizes_table(const Result&, const std::vector<std::int64_t>& block_bytes);
std::string sizes_json(const Result&, const std::vector<std::int64_t>& block_bytes);

// What is still open, a line each: incumbent, bound and gap in rounds a chunk, by steps.
std::string openings_in_words(const Result&);

// Every step: its rounds, and for each link its chunks.
std::string schedule_text(const Topology&, const Point&);

}  // namespace chorale
