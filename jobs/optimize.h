// The question most users come with: what is the fastest algorithm for each message size on this machine, how
// far is it from the bound, and what does it gain over what runs today.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/compile.h"
#include "cost/busbw.h"
#include "ir/collective.h"
#include "ir/error.h"
#include "ir/fields.h"
#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/named.h"
#include "ir/report.h"
#include "ir/search_options.h"
#include "ir/time_model.h"
#include "ir/topology.h"
#include "jobs/binding.h"
#include "jobs/measured_log.h"

namespace chorale {

// What the baselines are.
enum class BaselineSet {
  Auto,  // as NCCL where the machine has the links for one of its algorithms, else as MPI
  Nccl,  // rings over all links and double binary trees (AllReduce), rings (Allgather, ReduceScatter),
         // direct messages (Alltoall)
  Rccl,  // the same, which RCCL performs on AMD's GPUs
  Mpi,   // all that are known of the collective
};

std::span<const Named<BaselineSet>> baseline_sets();  // "auto", "nccl", "rccl", "mpi"

// A baseline at its best: of the chunk counts that were tried, the fastest at each size.
struct Baseline {
  std::string name = {};        // of known_classics(): "multi_ring_allreduce"
  std::vector<double> us = {};  // [size] -> microseconds
};

// With the points that are the fastest at some size.
struct TimedBaseline {
  Baseline times = {};
  std::vector<Point> points = {};
  std::vector<std::size_t> fastest = {};  // [size] -> the point
};

// `blocks` are sizes of blocks, in bytes. None for machines on which the algorithms that use all links are
// too large: a comparison with the others alone would flatter. Once `stop` is true each has its own choice of
// a chunk count alone, and those that are long to simulate are left out.
std::vector<TimedBaseline> timed_baselines(const Machine&, const Collective&, BaselineSet,
                                           const std::vector<std::int64_t>& blocks,
                                           const std::atomic<bool>* stop = nullptr,
                                           TimeModel = TimeModel::Steps);

// A message size, in bytes as nccl-tests counts them (cost/busbw.h): the larger buffer of a rank.
struct OptimizedRow {
  std::int64_t message_bytes = 0;
  int point = 0;               // of the result: the fastest
  std::string algorithm = {};  // its construction, and whether switches copy or add for it
  int steps = 0;
  double us = 0;                        // by the links' alpha and beta (point_us, cost/event_time.h)
  double algbw_gbs = 0, busbw_gbs = 0;  // of nccl-tests, GB/s = 1e9 bytes per second
  double bound_us = 0;                  // no schedule is faster; 0: not known
  bool at_most = false;       // some points were not timed before the limit: one of them may be faster
  std::string baseline = {};  // the fastest of the baselines; "": the machine suits none
  double baseline_us = 0;
  double measured_us = 0;  // 0: not measured
  // What NCCL or RCCL takes, by a model (api/library_model.h): "NVLS Simple"; "": the machine does not name
  // its GPU, or has no cost of a call.
  std::string library = {};
  double library_us = 0;
  double emitted_us = 0;  // `us` with what flags and pipelines cost an emitted program, by the same model
  // The part that the baseline keeps busiest, and the share of its time: "NIC out", 0.97.
  std::string baseline_part = {};
  double baseline_busy = 0;
};
template <>
struct Fields<OptimizedRow> {
  using O = OptimizedRow;
  static constexpr auto all =
      plain_fields<&O::message_bytes, &O::point, &O::algorithm, &O::steps, &O::us, &O::algbw_gbs,
                   &O::busbw_gbs, &O::bound_us, &O::at_most, &O::baseline, &O::baseline_us, &O::measured_us,
                   &O::library, &O::library_us, &O::emitted_us, &O::baseline_part, &O::baseline_busy>();
};

struct Optimized {
  Result result = {};
  MessageShape shape = {};
  std::vector<std::int64_t> sizes = {};  // of messages, bytes, as asked
  std::vector<Baseline> baselines = {};
  std::string library = {};             // "NCCL", "RCCL"; "": the rows have none
  std::vector<OptimizedRow> rows = {};  // by size; one that was not timed is missing
  std::optional<Binding> binding = {};  // what keeps any algorithm from being faster
  TimeModel time = TimeModel::Steps;    // of the rows and baselines, as asked
};

// "99.9 %": the bound over the time. "100.0 %": the time meets its bound, no schedule is faster.
std::string share_of_bound(const OptimizedRow&);
// Each size has a row, and no schedule is faster than any of them: every time meets its bound.
bool is_proven(const Optimized&);
// How the search ended, and what is proven: "complete in time by steps, no schedule is faster", "complete in
// steps and rounds per chunk; in time not, since ...: at 1 MiB 1.0 % of the bound".
std::string search_in_words(const Optimized&);

// Of a search for which nobody sets a limit: the effort that ends it, and the time of its thread on the
// processor that cuts it.
inline constexpr std::int64_t kUsualEffort = 1'000;
inline constexpr std::chrono::milliseconds kLongestOptimize{30'000};

struct OptimizeQuestion {
  std::vector<std::int64_t> message_bytes = {};  // rising from 0 or more, each once; at least one
  MeasuredSizes measured = {};                   // what runs today
  BaselineSet baselines = BaselineSet::Auto;
  // What times and bounds are of. By events, schedules made for that are among those that the search begins
  // with (construct/events.h).
  TimeModel time = TimeModel::Steps;
  // Its sizes are those above; baselines are among what it begins with, so that none is faster than the
  // answer at any limit. A time limit is also that of timing what was found, which gets a fifth of it.
  FrontierOptions search = {};
  // The search goes on with more chunk counts until the time limit; else it ends when its effort is spent
  // (kUsualEffort if none is given), or its constructions and its smallest chunk counts are done.
  bool uses_all_time = false;
  // Called from a thread of its own, while the search goes on, whenever some size has a shorter time or a
  // higher bound.
  std::function<void(const Optimized&)> improved = {};
  // Called once, before the search begins, with a function that returns what has been found so far
  // (FrontierOptions::publish, which is not called).
  std::function<void(std::function<Optimized()>)> publish = {};
};

// Throws InputError for sizes that do not rise from 0.
void require_rising(const std::vector<std::int64_t>& message_bytes);

// Throws InputError as frontier() does, and for sizes that are none or do not rise.
Optimized optimize(const Machine&, const Collective&, const OptimizeQuestion&);

// {"chorale_optimize": 1, "topology", "collective", "blocks_per_message", "bus_factor", "complete",
// "complete_in_rounds", "stopped", "search", "conclusion", "binding": fields of Binding, or null,
// "rows": [fields of OptimizedRow], "baselines": [{"name", "us"}]}; docs/formats.md.
std::string to_json(const Optimized&);

// The table by size with the algorithms that it names; what was concluded, what binds, and how the search
// ended; the figure of time and bus bandwidth over message size. Without a row a sentence alone.
Report report_of(const Optimized&);

// What a user takes away, with paths relative to one directory: result.json, table.json, index.html, the
// programs of the points in the table, and README.md with the commands that build and run them.
struct OptimizedFiles {
  std::vector<NamedText> files = {};
  std::vector<std::string> notes = {};  // points that the target cannot express, and what it loses
  // Where a target has no program for any of them: why not for the first.
  std::optional<InputError> refusal = {};
};
// `target`: what the programs are for; none: programs as they are, whose MPI collectives the preload library
// replaces.
// Once `stop` is true the page draws little.
// Programs that choose by size also have `after`, of the machine after failures (jobs/ready_after.h).
OptimizedFiles files_of(const Optimized&, std::optional<Target> target,
                        const std::atomic<bool>* stop = nullptr, std::span<const ReadyPoints> after = {});

// A shell script that starts a program under MPIRUN (mpirun) on so many processes with the preload library:
// `results` are relative to the script, `library_folder` is that of the library unless
// CHORALE_LIB names another.
std::string preload_script(int ranks, const std::vector<std::string>& results,
                           const std::string& library_folder);

// Are the ranks done before they begin: a machine, or groups, of one rank?
bool nothing_moves(const Optimized&);

// "1.64x to 3.44x as fast as the fastest of ring and tree; 231 GB/s of bus bandwidth at 1 GiB, 99.4 % of the
// bound": the answer in a sentence.
std::string conclusion(const Optimized&);
// Of what was measured: its plateau (the most bus bandwidth of any size) against the baseline's and the
// bound, the part that binds it, and from which size on the answer is faster; "" if nothing was.
std::string measured_in_words(const Optimized&);

}  // namespace chorale
