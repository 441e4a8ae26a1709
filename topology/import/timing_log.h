// What others measured of messages between two ranks: logs of nccl-tests (sendrecv_perf) and of the OSU
// micro-benchmarks (osu_latency, osu_bw).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

struct TimingLog {
  std::string kind = {};  // "osu_latency", in words
  // many messages were under way at once: the latency cannot be derived
  bool rates_only = false;
  std::vector<std::int64_t> bytes = {};  // of messages, > 0, as the lines come
  std::vector<double> us = {};           // by message
};

// Throws InputError that names file and line for a text that is not one of these logs, for numbers that are
// not positive, and for a log without messages.
TimingLog read_timing_log(std::string_view text, const std::string& file);

}  // namespace chorale
