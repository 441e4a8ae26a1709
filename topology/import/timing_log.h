// What others measured: logs of nccl-tests and rccl-tests since 1.0 (text, and JSON of -J), and of the OSU
// micro-benchmarks, as they were printed, or behind what mpirun, srun and clocks put before each line.
// Columns are found by their titles. A log may hold several tests, each of which is a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/collective_kind.h"

namespace chorale {

enum class TimingOf { Messages, Collective };  // between two ranks; of all

struct TimingRow {
  std::int64_t bytes = 0;  // as the test counts them, > 0
  double us = 0;           // > 0
  double busbw_gbs = 0;    // as printed; 0: not printed
};

struct TimingTable {
  std::string kind = {};            // "nccl-tests", "OSU's latency"
  std::string test = {};            // "all_reduce_perf", "OSU MPI Allreduce Latency"; "": not named
  std::optional<TimingOf> of = {};  // none: the log does not name its test
  CollectiveKind collective = CollectiveKind::Custom;  // Custom: not named, or not one of ours
  int ranks = 0;                                       // 0: the log does not list them
  int line = 0;                                        // of the title, from 1
  bool counts_blocks = false;        // bytes are of a rank's block, not of its larger buffer (OSU)
  bool rates_only = false;           // many messages were under way at once: no latency follows
  std::vector<TimingRow> rows = {};  // as the lines come
};

// Returns the tables that have rows. Throws InputError that names file and line for a text without such a
// test, for a test without times, and for rows that are not what the titles promise: a time or size that is
// no positive number, or an algbw that is not size over time.
std::vector<TimingTable> read_timing_log(std::string_view text, const std::string& file);

// Returns the first table of messages between two ranks; a table that names no test is taken for one. Throws
// InputError as above, and for a log of other tests.
TimingTable read_message_log(std::string_view text, const std::string& file);

}  // namespace chorale
