// Two machines, or two results, side by side: what each can do at best, what was found on it, and how many
// times as fast the second is.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/fields.h"
#include "ir/frontier.h"
#include "ir/machine_changes.h"
#include "ir/report.h"
#include "ir/topology.h"

namespace chorale {

// What no schedule of a collective can beat on a machine: microseconds however small a message is, and bus
// bandwidth (GB/s = 1e9, as nccl-tests counts it) however large.
struct CollectiveLimits {
  std::string collective = {};
  int steps = 0;          // the fewest of any schedule
  double latency_us = 0;  // a call, and the alphas of the longest path
  double busbw_gbs = 0;
};
template <>
struct Fields<CollectiveLimits> {
  using C = CollectiveLimits;
  static constexpr auto all = plain_fields<&C::collective, &C::steps, &C::latency_us, &C::busbw_gbs>();
};

// Returns the bounds of a collective, by name, on a machine without switches; 0 where nothing has to move.
// Throws InputError where a rank cannot be reached.
CollectiveLimits limits_on(const Topology& flat, const std::string& collective);

struct ComparedSide {
  std::string name = {};  // of the machine; of a result its file
  std::string machine = {};
  std::string collective = {};  // of a result
  int ranks = 0, switches = 0, links = 0;
  double out_gbs = 0;                         // out of a rank, all its links together; of the slowest rank
  std::string levels = {};                    // "node 2 x gpu 8"; "": none
  std::vector<CollectiveLimits> limits = {};  // of machines, by collective
  int points = 0, proven = 0;                 // of results
  std::string search = {};                    // of results: "complete in time by steps", or why it is not
};
template <>
struct Fields<ComparedSide> {
  using C = ComparedSide;
  static constexpr auto all =
      plain_fields<&C::name, &C::machine, &C::collective, &C::ranks, &C::switches, &C::links, &C::out_gbs,
                   &C::levels, &C::points, &C::proven, &C::search>();
};

// The fastest of one side at a message size.
struct SideAtSize {
  double us = 0;  // 0: not found, or not timed in time
  double busbw_gbs = 0;
  double bound_us = 0;  // no schedule is faster; 0: not known
  std::string algorithm = {};
  bool operator==(const SideAtSize&) const = default;
};
template <>
struct Fields<SideAtSize> {
  using S = SideAtSize;
  static constexpr auto all = plain_fields<&S::us, &S::busbw_gbs, &S::bound_us, &S::algorithm>();
};

struct ComparedSize {
  std::int64_t message_bytes = 0;
  std::array<SideAtSize, 2> sides = {};
  // How many times as fast the second is; 0: not known.
  double speedup() const { return sides[0].us > 0 && sides[1].us > 0 ? sides[0].us / sides[1].us : 0; }
  bool operator==(const ComparedSize&) const = default;
};

// A collective at message sizes on both.
struct ComparedSizes {
  std::string collective = {};
  std::array<double, 2> bus_factors = {1, 1};  // cost/busbw.h
  std::vector<ComparedSize> rows = {};
};

struct Comparison {
  bool of_results = false;
  std::array<ComparedSide, 2> sides = {};
  std::vector<ComparedSizes> sizes = {};
  std::vector<std::string> notes = {};  // what differs besides: numbers of ranks
};

struct CompareQuestion {
  std::vector<std::string> collectives = {};     // by name; none: the five usual ones
  std::vector<std::int64_t> message_bytes = {};  // rising; none: machines by their bounds alone
  // Of both machines; ImportOptions of those that are files of other tools.
  MachineChanges changes = {};
  std::chrono::milliseconds search_time{10'000};  // at most, of each collective on each machine
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Comparison&)> publish = {};  // called whenever more is known
  std::function<void(const std::string&)> doing = {};
};

// By name or from files of machines. Bounds are of each collective alone, and hold for every schedule.
Comparison compare_machines(const std::string& first, const std::string& second, const CompareQuestion&);

// Of one collective kind, on any machines. Points are timed by the links' alpha and beta.
Comparison compare_results(const Result& first, const Result& second, const std::array<std::string, 2>& names,
                           const std::vector<std::int64_t>& message_bytes,
                           const std::atomic<bool>* stop = nullptr);

// Two machines, or two files of results. Throws InputError for one of each.
Comparison compare(const std::string& first, const std::string& second, const CompareQuestion&);

// "allreduce: dgx-h100:2 is 1.21x to 1.83x as fast as dgx-a100:2, from 1 KiB to 1 GiB, by the
// schedules found, not all proven" where a time of a machine does not meet its bound: the answer, for each
// collective, over the sizes at which both have a time.
std::vector<std::string> conclusions(const Comparison&);

// {"chorale_compare": 1, "of": "machines" or "results", "sides": [...], "limits": [...], "sizes": [...],
// "conclusions": [...], "notes": [...]}; docs/formats.md.
std::string to_json(const Comparison&);
// What each side is, the bounds of each collective on machines, a table by message size and the conclusion
// for each collective; and a figure for each with sizes above 0 at which both have a schedule.
Report report_of(const Comparison&);

}  // namespace chorale
