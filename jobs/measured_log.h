// Times of a collective in logs of nccl-tests, rccl-tests and OSU (topology/import/timing_log.h), for a
// question: of this collective, and of as many ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/collective.h"

namespace chorale {

struct MeasuredSizes {
  std::vector<std::int64_t> message_bytes =
      {};                       // of the larger buffer of a rank (cost/busbw.h); rising, each once
  std::vector<double> us = {};  // [size], the least that was measured
};

// Returns the times of all tables of the log that are of this collective. A table that names no collective is
// one if its bus bandwidth is size over time by the collective's factor. Throws InputError, of one line, for
// what is no such log (read_timing_log), has no such table, or is of another number of ranks, by its list of
// them or by its bus bandwidth.
MeasuredSizes read_measured(const std::string& file, const Collective&);

// Returns the collectives that the tables of a log name, each once, in its order. Throws InputError as above.
std::vector<std::string> collectives_in_log(const std::string& file);

}  // namespace chorale
