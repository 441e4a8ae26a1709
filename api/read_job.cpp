// Each reader adds calls to a tally, by the rank that made them; what is known of ranks is their file,
// process or number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "api/job_calls.h"
#include "api/trace_readers.h"
#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

// PyTorch names internal forms, too: "_allgather_base", "allgather_into_tensor_coalesced", "all_to_allv".
// Endings are removed in the order of the list, each once, so of two the outer one comes first.
std::optional<CollectiveKind> kind_in_trace(std::string name) {
  while (name.starts_with('_')) name.erase(0, 1);
  for (const std::string_view form : {"_coalesced", "_base", "_into_tensor", "_tensor", "_async"})
    if (name.ends_with(form)) name.resize(name.size() - form.size());
  if (name == "all_to_allv" || name == "alltoallv" || name == "all_to_all" || name == "AlltoAll")
    name = "alltoall";
  return kind_spelled(name);
}

std::string members_in_words(const std::vector<int>& members) {
  return fmt::format("{}", fmt::join(members, " "));
}

// Of groups whose members are known: as many ranks at one distance are one group. A job has many
// data-parallel groups, of one pattern.
std::string shape_of(const std::vector<int>& members) {
  if (members.size() < 2) return fmt::format("{} ranks", members.size());
  const int step = members[1] - members[0];
  for (std::size_t i = 1; i < members.size(); ++i)
    if (members[i] - members[i - 1] != step) return members_in_words(members);
  return step == 1 ? fmt::format("{} ranks", members.size())
                   : fmt::format("{} ranks, {} apart", members.size(), step);
}

}  // namespace

// Negative: as good as none. NaN, of an infinite product and 0, fails the comparison.
std::int64_t whole_bytes(double bytes, const std::string& where) {
  if (std::abs(bytes) <= static_cast<double>(kMostTracedBytes)) return static_cast<std::int64_t>(bytes);
  throw InputError(where, "has a message of more than 2^50 bytes", "the trace is damaged: record it again");
}

void TraceTally::add(const std::string& rank, TracedCall call) {
  const std::optional<CollectiveKind> kind = kind_in_trace(call.operation);
  if (!kind || !is_offered(*kind)) {
    skipped[call.operation] += call.calls;
    return;
  }
  if (call.message_bytes <= 0) {
    skipped[call.operation + " without a size"] += call.calls;
    return;
  }
  if (!call.members.empty()) call.ranks = static_cast<int>(call.members.size());
  const std::string group = !call.members.empty() ? shape_of(call.members) : call.group;
  Key key{.group = group, .kind = *kind, .ranks = call.ranks, .message_bytes = call.message_bytes};
  members.try_emplace(group, members_in_words(call.members));
  Sum& sum = sums[key][rank];
  sum.calls += call.calls;
  sum.us += call.us;
}

namespace {

// Ranks of one group make the same calls, so they are not added up: the ranks with the most calls count, as
// traces may begin late, and of these the least time, since the others contain the wait for the last rank.
TracedJob job_of(const TraceTally& tally) {
  TracedJob job{.duration_us = tally.duration_us, .skipped = tally.skipped};
  for (const auto& [key, by_rank] : tally.sums) {
    JobCalls row{.group = key.group,
                 .collective = name_of(key.kind),
                 .ranks = key.ranks,
                 .members = tally.members.at(key.group),
                 .message_bytes = key.message_bytes};
    for (const auto& [rank, sum] : by_rank) row.calls = std::max(row.calls, sum.calls);
    for (const auto& [rank, sum] : by_rank)
      if (sum.calls == row.calls && sum.us > 0) row.us = row.us == 0 ? sum.us : std::min(row.us, sum.us);
    job.calls.push_back(std::move(row));
  }
  // By time; without times by the bytes of all calls.
  std::ranges::stable_sort(job.calls, [](const JobCalls& a, const JobCalls& b) {
    return std::pair(a.us, static_cast<double>(a.message_bytes) * static_cast<double>(a.calls)) >
           std::pair(b.us, static_cast<double>(b.message_bytes) * static_cast<double>(b.calls));
  });
  return job;
}

}  // namespace

TracedJob read_job(const std::vector<TraceText>& traces) {
  TraceTally tally;
  for (const TraceText& trace : traces) read_trace(trace, static_cast<int>(traces.size()), tally);
  TracedJob job = job_of(tally);
  if (job.calls.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, times] : job.skipped) names.push_back(name);
    throw InputError(traces.empty() ? "the job" : traces.front().file, "has no collective with a size",
                     names.empty()
                         ? ""
                         : "it has " + joined(names) +
                               "; PyTorch's profiler needs Kineto, and record_shapes=True for gloo; Chakra's "
                               "traces may need those of all ranks");
  }
  return job;
}

}  // namespace chorale
