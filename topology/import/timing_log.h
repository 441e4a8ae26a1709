// What others measured of messages between two ranks: logs of nccl-tests (sendrecv_perf) and of the OSU
// micro-benchmarks (osu_latency, osu_bw).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

struct TimingLog {
  std::string kind = {};                 // "osu_latency", in words
  bool rates_only = false;               // many messages were under way at once: no latency can be told
  std::vector<std::int64_t> bytes = {};  // of messages, > 0, as the lines come
  std::vector<double> us = {};           // by message
};

// Throws InputError that names file and line for what is none of these logs, for numbers that are not
// positive, and for one with no message in it.
TimingLog read_timing_log(std::string_view text, const std::string& file);

}  // namespace chorale
