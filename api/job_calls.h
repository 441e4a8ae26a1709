// The collectives that a job calls, as traces and logs of other programs have them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/fields.h"

namespace chorale {

// All calls of a rank with the same group, collective and size.
struct JobCalls {
  std::string group = {};  // as the trace names it
  std::string collective = {};
  int ranks = 0;                   // of the group; 0: the trace does not say
  std::string members = {};        // "0 1 2 3", of the job; "": the trace does not say
  std::int64_t message_bytes = 0;  // of the larger buffer of a rank, as nccl-tests counts them
  std::int64_t calls = 0;
  double us = 0;  // of all of them, in microseconds; 0: the trace has no times
};
template <>
struct Fields<JobCalls> {
  using J = JobCalls;
  static constexpr auto all =
      plain_fields<&J::group, &J::collective, &J::ranks, &J::members, &J::message_bytes, &J::calls, &J::us>();
};

struct TracedJob {
  std::vector<JobCalls> calls = {};                  // the longest first, or the most bytes
  double duration_us = 0;                            // of what was traced; 0: not known
  std::map<std::string, std::int64_t> skipped = {};  // other operations by name: "send", "barrier"
};

struct TraceText {
  std::string file = {};  // what errors call it
  std::string text = {};
};

// Of one job, of one rank or of several. The format of each is recognized:
//   PyTorch's profiler         export_chrome_trace of a PyTorch with Kineto: kernels of NCCL, or
//                              record_param_comms, or, with record_shapes, "gloo:all_reduce"
//   PyTorch's flight recorder  as JSON
//   NCCL's inspector           JSON objects, one per line or one after the other
//   NCCL_DEBUG=INFO            lines of subsystem COLL: "AllReduce: opCount ..."; without times
//   Chakra                     an execution trace: collectives with their times; of one without groups, all
//                              ranks are as many as there are traces; or one of 'emit --target chakra', whose
//                              messages are one call
//   a table                    as a PMPI wrapper writes it: comma-separated, with a header: collective,
//                              ranks, bytes (of a message), and if there are such columns group, calls, us
// A call of several ranks counts once: of the ranks whose traces have it the most calls, and the least time,
// since the others wait for the last. Throws InputError with the file and the place.
TracedJob read_job(const std::vector<TraceText>&);

}  // namespace chorale
