// What others measured: logs of nccl-tests and of the OSU micro-benchmarks. Of messages between two ranks:
// sendrecv_perf, osu_latency, osu_bw; of collectives: all_reduce_perf, osu_allreduce and the like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

enum class TimingOf { Messages, Collective };

struct TimingLog {
  std::string kind = {};  // "osu_latency", in words
  // many messages were under way at once: the latency cannot be derived
  bool rates_only = false;
  std::vector<std::int64_t> bytes = {};  // of messages as the test counts them, > 0, as the lines come
  std::vector<double> us = {};           // by message
};

// Throws InputError that names file and line for a text that is not one of these logs, for numbers that are
// not positive, and for a log without messages.
TimingLog read_timing_log(std::string_view text, const std::string& file, TimingOf = TimingOf::Messages);

}  // namespace chorale
