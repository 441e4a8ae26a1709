// A result for readers: in words for tables, and as HTML reports.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cost/busbw.h"
#include "ir/fields.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/ranking.h"
#include "ir/report.h"
#include "ir/time_model.h"

namespace chorale {

class PointTimes;  // api/point_times.h

// For the sizes at which a point is best; the machine's own numbers where not given.
struct SizeModel {
  std::optional<double> alpha_us = {};          // of a step
  std::optional<double> beta_us_per_byte = {};  // of a round, for a byte over each unit of bandwidth
};

// By point, in words, the sizes of messages at which it is the fastest: "from 3 MiB"; "" for a point that is
// not on the frontier and nowhere the fastest. By the same times as best_by_size. Where links differ points
// are simulated; once `stop` is true, that takes a fifth of a second at most: of long schedules only at two
// sizes, with a line through both, and of the longest not at all. Then all on the frontier are "not timed".
struct BestSizes {
  std::vector<std::string> words = {};
  bool timed = true;
};
BestSizes best_sizes(const Result&, const SizeModel& = {}, const std::atomic<bool>* stop = nullptr);
std::vector<std::string> best_sizes_in_words(const Result&, const SizeModel& = {});

// The certificate of what is proven; of what is not, how far from the bound it is.
std::string proven_by(const Result&, const Point&);

// "0-3, 7".
std::string ranges(std::vector<int> sorted_numbers);

// Returns origin(), and whether the switches copy or add for the schedule: "direct_allreduce in-network".
std::string algorithm_of(const Topology&, const Point&);

// What claims about the machine presuppose: "; its switches multicast, and what is proven holds for such"; or
// nothing.
std::string under_abilities(const Topology&);

// What is fastest at a size, whether it is on the frontier or not.
struct SizeRow {
  std::int64_t message_bytes = 0;  // as asked (cost/busbw.h)
  std::int64_t block_bytes = 0;    // of such a message, rounded up
  int point = 0;
  // That it should take, each link by its own numbers (point_us, cost/program_time.h), or by those given.
  double us = 0;
  double algbw_gbs = 0, busbw_gbs = 0;  // of nccl-tests, GB/s = 1e9 bytes per second
  // That no schedule is faster than: the larger of a bound on latency and one on the rate; 0 where numbers
  // are given.
  double least_us = 0;
  // Some points were not timed before `stop`: the fastest may be one of them.
  bool at_most = false;
};
template <>
struct Fields<SizeRow> {
  using S = SizeRow;
  static constexpr auto all = plain_fields<&S::message_bytes, &S::block_bytes, &S::point, &S::us,
                                           &S::algbw_gbs, &S::busbw_gbs, &S::least_us, &S::at_most>();
};

// One row per size; empty for a result without points. Once `stop` is true, of the points that are timed by
// then or within a fifth of a second; a size without such a point has point -1 and no time. `known`: times of
// points of this machine, which may be among them (null: none are). The bound is that of the claims, those in
// time too; where they have no rate it is computed, but not while a search (`is_searched`) may still find it.
std::vector<SizeRow> rows_by_size(const Result&, const std::vector<std::int64_t>& message_bytes,
                                  const SizeModel& = {}, const std::atomic<bool>* stop = nullptr,
                                  PointTimes* known = nullptr, bool is_searched = false);
// Those that have a point.
std::vector<SizeRow> best_by_size(const Result&, const std::vector<std::int64_t>& message_bytes,
                                  const SizeModel& = {}, const std::atomic<bool>* stop = nullptr);
// States bounds in time of a result (Result::time_claims) for blocks of those sizes: by cuts, which are found
// once, and by its claims, if there are any.
using TimeBoundsOf = std::function<void(Result&)>;
TimeBoundsOf time_bounds_of(const Topology&, const Collective&, const std::vector<std::int64_t>& block_bytes);
// How many of the rows are proven to be the fastest by the model of their times, and how far the others may
// be from that: "2 of 3 sizes are complete, the others within 3.2 % of the bound in time". "" where a bound
// is not known. What no schedule beats by steps may be beaten by one that waits for messages alone.
struct TimeAndBound {
  double us = 0, bound_us = 0;
};
std::string complete_in_time(const std::vector<TimeAndBound>&, TimeModel);

// Of messages, where none are asked for: 1 KiB to 1 GiB, by factors of 4 ("1K:1G:4").
std::vector<std::int64_t> usual_sizes();

// {"chorale_sizes": 1, "topology", "collective", "rows": [fields of SizeRow]}; docs/formats.md.
std::string sizes_json(const Result&, const std::vector<SizeRow>&);

// "dgx1, allgather: 8 ranks, 32 links; 1 to 6 chunks per block", and what a block is, on a second line.
std::string heading(const Result&);
// "1 chunk", "1 to 6 chunks".
std::string chunk_counts(const Space&);
// A line for each opening: incumbent, bound and gap in rounds per chunk, by steps.
std::vector<std::string> openings_in_words(const Result&);
// The point with the fewest rounds per chunk; null if there is none.
const Point* fastest_rate(const Result&);
// "; a call costs 6.6 us"; nothing, where it costs nothing.
std::string call_in_words(double call_us);

// What a report of a result lists, points by their numbers. Beside the whole frontier also points that are
// beaten in steps and rounds but are the fastest at some size, since links differ, are listed, and always
// those that are the fastest at the sizes that were asked for.
struct Listed {
  std::vector<int> points = {};
  BestSizes best = {};              // of all points
  std::vector<SizeRow> timed = {};  // by size
  std::size_t sizes = 0;            // that were asked for; the rest were not timed
  std::vector<int> schedules = {};  // of these, step by step
};
// Returns the points, the fastest at each size, schedules, and the bound on all schedules.
Report report_of(const Result&, const Listed&);

// One page that shows it all and loads nothing from elsewhere: the machine drawn, schedules animated, the
// frontier plotted; the hierarchy with the groups of each step.
// Once `stop` is true little is drawn: sends without their rounds, nodes of large machines in rows.
std::string to_page(const Result&, const SizeModel& = {});
std::string to_page(const Result&, const BestSizes&, const std::atomic<bool>* stop = nullptr);
// With that report first, which is of the result; of its figures the first.
std::string to_page(const Result&, const BestSizes&, const Report&, const std::atomic<bool>* stop = nullptr);
std::string to_page(const Report&);
std::string to_json(const Report&);  // its fields
std::string to_page(const Ranking&);
// The machine alone, drawn, after its report (topology/text.h); of switches, the paths through them (flatten,
// topology/switches.h).
std::string to_page(const Topology&);
std::string to_page(const Topology&, const Report&, const std::atomic<bool>* stop = nullptr);

// How long points take at some sizes (point_us, cost/event_time.h): each is simulated once, and any thread
// may ask.

class PointTimes {
 public:
  explicit PointTimes(Machine machine, TimeModel model = TimeModel::Steps)
      : machine_(std::move(machine)), model_(model) {}

  const Machine& machine() const { return machine_; }
  TimeModel model() const { return model_; }

  std::optional<double> known(const Point&, double block_bytes) const;
  // Nothing where `stop` (null: never) becomes true before it is known.
  std::optional<double> us(const Point&, double block_bytes, const std::atomic<bool>* stop);

 private:
  // Points of the same cost may have other schedules, so these are part of it.
  using Key = std::tuple<int, int, int, std::uint64_t, double>;
  static Key key_of(const Point&, double block_bytes);

  const Machine machine_;
  const TimeModel model_;
  mutable std::mutex mutex_;
  std::map<Key, double> known_ = {};
};

// A schedule on a time axis, where messages drive it: what each link carries when, and the chain of messages
// that takes as long as the whole.

// Returns the point that is the fastest by events for messages of that size (cost/busbw.h); -1 without
// points.
int fastest_by_events(const Result&, std::int64_t message_bytes);

// Returns its times by events and by steps; the critical path, with what each message waited for; and the
// busiest links on an axis, as text and as a figure. Requires a point of the result.
Report event_report(const Result&, int point, std::int64_t message_bytes);

}  // namespace chorale
