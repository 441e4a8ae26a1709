// The question most users come with: what is the fastest algorithm for each message size on this machine, how
// far is it from the bound, and what does it gain over what runs today.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/collective_options.h"
#include "api/compile.h"
#include "ir/fields.h"
#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/named.h"
#include "ir/search_options.h"

namespace chorale {

// What a message size and bus bandwidth mean: of a group, by what the group does.
struct MessageShape {
  CollectiveKind kind =
      CollectiveKind::Custom;  // Custom: a message is a block, and bus bandwidth size / time
  int ranks = 1;               // of the largest group
};

// Of a collective by name, as communication() takes it (api/inputs.h). Custom for files, and with counts.
MessageShape shape_of(const std::string& name_or_file, const Topology&, const CollectiveOptions&);

// A baseline at its best: of the chunk counts that were tried, the fastest at each size.
struct Baseline {
  std::string name = {};        // of known_classics(): "multi_ring_allreduce"
  std::vector<double> us = {};  // [size] -> microseconds
};

// A message size, in bytes as nccl-tests counts them (cost/busbw.h): the larger buffer of a rank.
struct OptimizedRow {
  std::int64_t message_bytes = 0;
  int point = 0;               // of the result: the fastest
  std::string algorithm = {};  // its construction
  int steps = 0;
  double us = 0;              // by the links' alpha and beta (point_us, cost/program_time.h)
  double busbw_gbs = 0;       // bus bandwidth of nccl-tests, GB/s = 1e9 bytes per second
  double bound_us = 0;        // no schedule is faster
  bool at_most = false;       // some points were not timed before the limit: one of them may be faster
  std::string baseline = {};  // the fastest of the baselines; "": the machine suits none
  double baseline_us = 0;
  double measured_us = 0;  // 0: not measured
};
template <>
struct Fields<OptimizedRow> {
  static constexpr std::tuple all = {
      Field<OptimizedRow, &OptimizedRow::message_bytes>{{.name = "message_bytes"}},
      Field<OptimizedRow, &OptimizedRow::point>{{.name = "point"}},
      Field<OptimizedRow, &OptimizedRow::algorithm>{{.name = "algorithm"}},
      Field<OptimizedRow, &OptimizedRow::steps>{{.name = "steps"}},
      Field<OptimizedRow, &OptimizedRow::us>{{.name = "us"}},
      Field<OptimizedRow, &OptimizedRow::busbw_gbs>{{.name = "busbw_gbs"}},
      Field<OptimizedRow, &OptimizedRow::bound_us>{{.name = "bound_us"}},
      Field<OptimizedRow, &OptimizedRow::at_most>{{.name = "at_most"}},
      Field<OptimizedRow, &OptimizedRow::baseline>{{.name = "baseline"}},
      Field<OptimizedRow, &OptimizedRow::baseline_us>{{.name = "baseline_us"}},
      Field<OptimizedRow, &OptimizedRow::measured_us>{{.name = "measured_us"}}};
};

struct Optimized {
  Result result = {};
  MessageShape shape = {};
  std::vector<std::int64_t> sizes = {};  // of messages, bytes, as asked
  std::vector<Baseline> baselines = {};
  std::vector<OptimizedRow> rows = {};  // by size; one that was not timed is missing
};

// What the baselines are.
enum class BaselineSet {
  Auto,  // as NCCL where the machine has the links for one of its algorithms, else as MPI
  Nccl,  // rings over all links and double binary trees (AllReduce), rings (Allgather, ReduceScatter),
         // direct messages (Alltoall)
  Mpi,   // all that are known of the collective
};

std::span<const Named<BaselineSet>> baseline_sets();  // "auto", "nccl", "mpi"

// Of a search for which nobody sets a time.
inline constexpr std::chrono::milliseconds kLongestOptimize{30'000};

// What runs today, by a log of nccl-tests (all_reduce_perf, ...) or of OSU's collectives.
struct MeasuredSizes {
  std::vector<std::int64_t> message_bytes = {};  // rising, each once
  std::vector<double> us = {};                   // [size]
};
MeasuredSizes read_measured(const std::string& file);  // throws InputError

struct OptimizeQuestion {
  std::vector<std::int64_t> message_bytes = {};  // rising from 0 or more, each once; at least one
  MeasuredSizes measured = {};
  std::optional<MessageShape> shape = {};  // by the collective if not given
  BaselineSet baselines = BaselineSet::Auto;
  // Its sizes are those above; baselines are among what it begins with, so that none is faster than the
  // answer. A time limit is also that of timing what was found, which gets a fifth of it.
  FrontierOptions search = {};
  // The search goes on with more chunk counts until the time limit; else it ends when its constructions and
  // its smallest chunk counts are done, as one without a limit.
  bool uses_all_time = false;
  // Called from a thread of its own, while the search goes on, whenever some size has a shorter time or a
  // higher bound.
  std::function<void(const Optimized&)> improved = {};
  // Called once, before the search begins, with a function that returns what has been found so far
  // (FrontierOptions::publish, which is not called).
  std::function<void(std::function<Optimized()>)> publish = {};
};

// Throws InputError as frontier() does, and for sizes that are none or do not rise.
Optimized optimize(const Topology&, const Collective&, const OptimizeQuestion&);

// {"chorale_optimize": 1, "topology", "collective", "kind", "ranks", "complete", "stopped", "conclusion",
// "rows": [fields of OptimizedRow], "baselines": [{"name", "us"}]}; docs/formats.md.
std::string to_json(const Optimized&);

// One page: the figure of time and bus bandwidth over message size first, then as of any result.
std::string to_page(const Optimized&);
std::string to_svg(const Optimized&);  // the figure alone; requires a row

// What a user takes away, with paths relative to one directory: result.json, table.json, index.html, the
// programs of the points in the table, and README.md with the commands that build and run them.
struct OptimizedFiles {
  std::vector<NamedText> files = {};
  std::vector<std::string> notes = {};  // points that the target cannot express, and what it loses
};
OptimizedFiles files_of(const Optimized&, Target);

// "1.64x to 3.44x as fast as the baselines; within 0.6 % of the bound at 1 GiB": the answer in a sentence.
std::string conclusion(const Optimized&);
// Of what was measured: its share of the baseline and of the bound at its largest size, and from which size on
// the answer is faster; "" if nothing was.
std::string measured_in_words(const Optimized&);

}  // namespace chorale
