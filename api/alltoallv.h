// Plans an Alltoallv by its counts, as libchorale-mpi does when one is called (docs/alltoallv.md).
#pragma once

#include <string>
#include <string_view>

#include "ir/alltoallv.h"
#include "ir/report.h"

namespace chorale {

// A line for each source, numbers of bytes for each destination separated by commas or whitespace; the same
// number of both. Throws InputError, which names the line of `file`.
ByteCounts read_byte_counts(std::string_view text, const std::string& file);

// Equal nodes of successive ranks, with rates as text (runtime/alltoallv/read_rates.h). Throws InputError,
// which names the option of the command, where nodes do not divide the ranks.
TwoTiers equal_nodes(int ranks, int nodes, std::string_view rates);

struct PlannedAlltoallv {
  AlltoallvPlan plan = {};
  double planning_ms = 0;  // processor time of this thread
};

PlannedAlltoallv plan_by_counts(const TwoTiers&, const ByteCounts&);

// {"chorale_alltoallv": 1, ...}; docs/formats.md.
std::string to_json(const TwoTiers&, const PlannedAlltoallv&);

// The plan beside direct sends (each pair at once, without forwarding) and the bound: the bytes of the
// busiest NIC or rank over its rate. The busiest NIC stands beside its ratio to the mean of its node: 1 is
// balanced.
Report report_of(const PlannedAlltoallv&);

}  // namespace chorale
