// Readers of traces and logs, each of one format (api/job_calls.h lists them).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/job_calls.h"

namespace chorale {

// What errors say.
constexpr const char* kKnownTraces =
    "known are PyTorch's profiler and flight recorder, Chakra, NCCL's inspector and log, and tables";

struct TracedCall {
  std::string operation = {};  // as it was logged: "_allgather_base"
  std::string group = {};
  std::vector<int> members = {};  // of the group, if known
  int ranks = 0;                  // of the group; 0: not known
  std::int64_t message_bytes = 0;
  std::int64_t calls = 1;
  double us = 0;  // of all of them; 0: not known
};

// What ranks did.
struct TraceTally {
  struct Key {
    std::string group = {};
    CollectiveKind kind = CollectiveKind::Custom;
    int ranks = 0;
    std::int64_t message_bytes = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Sum {
    std::int64_t calls = 0;
    double us = 0;
  };
  std::map<Key, std::map<std::string, Sum>> sums = {};  // then by rank
  std::map<std::string, std::string> members = {};      // of the first of each group
  std::map<std::string, std::int64_t> skipped = {};
  double duration_us = 0;  // the longest of the ranks

  void add(const std::string& rank, TracedCall);
};

// The most ranks that a trace may have, and bytes of a message.
constexpr int kMostTracedRanks = 1 << 30;
constexpr std::int64_t kMostTracedBytes = 1LL << 50;

// As an integer. Throws InputError, which names `where`, for more than the most bytes.
std::int64_t whole_bytes(double bytes, const std::string& where);

// By the format that it has; one of several of the job. Throws InputError.
void read_trace(const TraceText&, int traces, TraceTally&);

// api/trace_text.cpp: formats that are lines.
bool is_nccl_log(std::string_view text);
void read_nccl_log(const TraceText&, TraceTally&);
void read_table(const TraceText&, TraceTally&);

// api/trace_chakra.cpp.
bool is_chakra(std::string_view text);
void read_chakra(const TraceText&, int traces, TraceTally&);

}  // namespace chorale
