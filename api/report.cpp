// The derived columns of tables and reports: where a point is the best, and what proves it.
#include "api/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "api/place.h"
#include "bounds/time_bounds.h"
#include "cost/cost.h"
#include "cost/event_time.h"
#include "cost/program_time.h"
#include "ir/fnv.h"
#include "ir/json_fields.h"
#include "ir/links_alone.h"
#include "ir/words.h"
#include "pages/figures.h"
#include "pages/page.h"
#include "pareto/optimality.h"
#include "pareto/strongest_bounds.h"
#include "topology/switches.h"
#include "topology/text.h"

namespace chorale {
namespace {

constexpr long long kMostExaminedSends = 50'000;  // of more, two times are found out
// Once stopped: the limit for all sizes, and the limit for two sizes. Where links are contended the
// simulation of a send takes some 20 microseconds (dgx1:8, composed AllReduces: 1.3 CPU s for what 50,000
// would admit).
constexpr long long kMostSendsStopped = 200;
constexpr long long kMostSendsOfTwoStopped = 5'000;
constexpr double kLargeBlock = 1 << 30;

std::vector<std::size_t> on_frontier(const Result& result) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].on_frontier) which.push_back(i);
  return which;
}

using RangesByPoint = std::vector<std::vector<SizeRange>>;

// By the formula, of points on the frontier: a point that is dominated in steps and rounds is nowhere the
// fastest.
RangesByPoint by_lines(const Result& result, const AlphaBeta& model) {
  const std::vector<std::size_t> which = on_frontier(result);
  std::vector<Cost> costs;
  for (const std::size_t i : which) costs.push_back(result.points[i].cost);
  const std::vector<SizeRange> sizes =
      best_sizes(std::span<const Cost>(costs), model.alpha_us, model.beta_us_per_byte);
  std::vector<std::vector<SizeRange>> ranges(result.points.size());
  for (std::size_t k = 0; k < which.size(); ++k) ranges[which[k]] = {sizes[k]};
  return ranges;
}

// Evaluated some hundred times. Nothing if it was stopped.
std::optional<RangesByPoint> by_all_sizes(const Result& result, const Machine& machine,
                                          const std::atomic<bool>* stop) {
  bool stopped = false;  // then each answer is the same, and soon no more are evaluated
  const RangesByPoint ranges = fastest_sizes(result.points.size(), [&](std::size_t i, double bytes) {
    const std::optional<double> us =
        stopped ? std::nullopt : point_us(machine, result.points[i], bytes, stop);
    stopped = !us;
    return us.value_or(std::numeric_limits<double>::infinity());
  });
  return stopped ? std::nullopt : std::optional(ranges);
}

// Evaluated twice, and a line is laid through the results: right where the order of events does not depend on
// the size, and an approximation elsewhere.
std::optional<RangesByPoint> by_two_sizes(const Result& result, const Machine& machine,
                                          const std::atomic<bool>* stop) {
  std::vector<std::pair<double, double>> lines;  // at no bytes, and more per byte
  for (const Point& point : result.points) {
    const std::optional<double> none = point_us(machine, point, 0, stop),
                                large = point_us(machine, point, kLargeBlock, stop);
    if (!none || !large) return std::nullopt;
    lines.emplace_back(*none, (*large - *none) / kLargeBlock);
  }
  return fastest_sizes(lines.size(),
                       [&](std::size_t i, double bytes) { return lines[i].first + lines[i].second * bytes; });
}

// By the number of sends: all sizes, else two. If a stop ends that, again without the flag where so few are
// simulated that it takes no more than a fifth of a second; else nothing.
std::optional<RangesByPoint> by_simulation(const Result& result, const Machine& machine,
                                           const std::atomic<bool>* stop) {
  long long sends = 0;
  for (const Point& point : result.points) sends += total_sends(point.schedule);
  const auto ranged = [&](long long most, const std::atomic<bool>* until) {
    return sends <= most ? by_all_sizes(result, machine, until) : by_two_sizes(result, machine, until);
  };
  std::optional<RangesByPoint> ranges = ranged(kMostExaminedSends, stop);
  if (!ranges && sends <= kMostSendsOfTwoStopped) ranges = ranged(kMostSendsStopped, nullptr);
  return ranges;
}

// The numbers of the caller, a missing one by the machine; nullopt: neither is given, and each link has its
// own.
std::optional<AlphaBeta> asked_for(const SizeModel& model, const Machine& machine) {
  if (!model.alpha_us && !model.beta_us_per_byte) return {};
  const AlphaBeta& own = machine.once(alpha_beta);
  return AlphaBeta{.alpha_us = model.alpha_us.value_or(own.alpha_us),
                   .beta_us_per_byte = model.beta_us_per_byte.value_or(own.beta_us_per_byte),
                   .call_us = own.call_us};
}

}  // namespace

// By lines where one alpha and one beta hold for all links, or are given: the formula is exact there. By
// simulation elsewhere.
BestSizes best_sizes(const Result& result, const SizeModel& model, const std::atomic<bool>* stop) {
  const Machine machine(result.topology);
  const std::optional<AlphaBeta> numbers = asked_for(model, machine);
  const std::optional<RangesByPoint> ranges = numbers ? by_lines(result, *numbers)
                                              : machine.once(have_equal_rates)
                                                  ? by_lines(result, machine.once(alpha_beta))
                                                  : by_simulation(result, machine, stop);
  // Ranges are of blocks, and shown as messages.
  const double blocks = static_cast<double>(message_shape(result.collective).blocks);
  BestSizes sizes{.words = std::vector<std::string>(result.points.size()), .timed = ranges.has_value()};
  for (std::size_t i = 0; i < sizes.words.size(); ++i) {
    std::string& words = sizes.words[i];
    if (ranges)
      for (const SizeRange& range : (*ranges)[i])
        words += (words.empty() ? "" : ", ") + format_range({range.from * blocks, range.to * blocks});
    if (words.empty() && result.points[i].on_frontier) words = ranges ? "none" : "not timed";
  }
  return sizes;
}

std::vector<std::string> best_sizes_in_words(const Result& result, const SizeModel& model) {
  return best_sizes(result, model).words;
}

namespace {

// The bound of its claims, or, if none has a rate, a bound that is computed here; 0 if it was stopped before,
// or if the search that is still at work computes it.
double rounds_per_chunk(const Result& result, const std::atomic<bool>* stop, bool is_searched) {
  Rate bound = rate_bound(result);
  if (bound.rounds == 0 && !is_searched && !(stop != nullptr && *stop)) {
    StrongestBounds bounds(result.topology, result.collective, stop);
    if (bounds.fewest_steps().steps > 0)
      bound = {.rounds = bounds.rate().rounds, .chunks = bounds.rate().chunks};
  }
  return static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
}

// Rates that hold for any chunk count, by number of steps: of at most that many steps.
std::vector<StepRate> rates_of_steps(const Result& result) {
  std::vector<StepRate> rates;
  for (const Claim& claim : result.claims)
    if (claim.any_chunks && claim.collective == result.collective.kind && claim.steps != kAnySteps &&
        claim.rounds != kNoSchedule)
      rates.push_back(
          {.steps = claim.steps, .rounds_per_chunk = static_cast<double>(claim.rounds) / claim.chunks});
  return rates;
}

// Once stopped: sends that are simulated for all sizes together, a fifth of a second.
constexpr long long kMostSendsOfSizesStopped = 10'000;

// Those that the formula has for the fastest come first: if a stop leaves some untimed, it is the others.
std::vector<std::size_t> most_likely(const Result& result, const AlphaBeta& model, double bytes) {
  std::vector<std::size_t> order(result.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t p) { return time_us(result.points[p].cost, model, bytes); });
  return order;
}

}  // namespace

std::vector<SizeRow> rows_by_size(const Result& result, const std::vector<std::int64_t>& message_bytes,
                                  const SizeModel& model, const std::atomic<bool>* stop, PointTimes* known,
                                  bool is_searched) {
  std::vector<SizeRow> rows;
  if (result.points.empty()) return rows;
  const double rounds = rounds_per_chunk(result, stop, is_searched);
  const TimeBound least(result.topology, result.collective, rounds, rates_of_steps(result));
  const Machine machine = known != nullptr ? known->machine() : Machine(result.topology);
  const std::optional<AlphaBeta> numbers = asked_for(model, machine);
  // What waits for messages alone may beat what no schedule beats by steps; the reverse does not hold.
  const bool by_events = known != nullptr && known->model() == TimeModel::Events;
  const bool simulated = !numbers && (by_events || !machine.once(have_equal_rates));
  const bool is_fastest = !by_events && completeness(result) == Completeness::Time;
  const MessageShape message = message_shape(result.collective);
  for (const std::int64_t bytes : message_bytes) {
    const std::int64_t block = block_of_size(message, bytes);
    const double size = static_cast<double>(block);
    SizeRow row{.message_bytes = bytes, .block_bytes = block, .point = -1};
    // Without a rate the bound would be that of the latency alone: not what "the bound" is taken for.
    if (!numbers && rounds > 0) {
      if (!by_events) row.least_us = least.us(size);
      const auto claim = std::ranges::find(result.time_claims, size, &TimeClaim::block_bytes);
      if (claim != result.time_claims.end())
        row.least_us = std::max(row.least_us, result.topology.call_us + claim->us);
    }
    long long sends = 0;
    for (const std::size_t p : most_likely(result, machine.once(alpha_beta), size)) {
      const Point& point = result.points[p];
      std::optional<double> us;
      if (known != nullptr) us = known->known(point, size);
      if (numbers) {
        us = time_us(point.cost, *numbers, size);
      } else if (!us) {
        // After a stop a point is timed nevertheless while its sends fit this size's share of
        // kMostSendsOfSizesStopped.
        const long long more = simulated ? sends + total_sends(point.schedule) : 0;
        const bool quick = more * std::ssize(message_bytes) <= kMostSendsOfSizesStopped;
        if (quick) sends = more;
        const std::atomic<bool>* const until = quick ? nullptr : stop;
        us = known != nullptr ? known->us(point, size, until) : point_us(machine, point, size, until);
      }
      if (!us) {
        row.at_most = true;
        continue;
      }
      if (row.point >= 0 && (*us > row.us || (*us == row.us && static_cast<int>(p) > row.point))) continue;
      row.point = static_cast<int>(p);
      row.us = *us;
    }
    if (row.point >= 0) row.algbw_gbs = algbw_gbs(static_cast<double>(bytes), row.us);
    if (is_fastest && !numbers && row.point >= 0) row.least_us = std::max(row.least_us, row.us);
    row.busbw_gbs = row.algbw_gbs * message.bus_factor;
    rows.push_back(row);
  }
  return rows;
}

std::vector<SizeRow> best_by_size(const Result& result, const std::vector<std::int64_t>& message_bytes,
                                  const SizeModel& model, const std::atomic<bool>* stop) {
  std::vector<SizeRow> rows = rows_by_size(result, message_bytes, model, stop);
  std::erase_if(rows, [](const SizeRow& row) { return row.point < 0; });
  return rows;
}

TimeBoundsOf time_bounds_of(const Topology& topology, const Collective& collective,
                            const std::vector<std::int64_t>& block_bytes) {
  const auto bounds = std::make_shared<TimeBounds>(topology, collective);
  return [bounds, sizes = std::vector<double>(block_bytes.begin(), block_bytes.end())](Result& result) {
    result.time_claims.clear();
    for (const double bytes : sizes)
      if (TimeClaim claim = bounds->strongest(bytes, result.claims); claim.us > 0)
        result.time_claims.push_back(std::move(claim));
  };
}

std::string complete_in_time(const std::vector<TimeAndBound>& rows, TimeModel model) {
  const auto excess = [](const TimeAndBound& row) { return row.us / row.bound_us - 1; };
  if (rows.empty() || std::ranges::any_of(rows, [](const TimeAndBound& row) { return row.bound_us <= 0; }))
    return "";
  const auto proven =
      std::ranges::count_if(rows, [](const TimeAndBound& row) { return meets_bound(row.us, row.bound_us); });
  const std::string sizes = counted(std::ssize(rows), "size");
  const std::string in_time = model == TimeModel::Steps ? "in time by steps" : "in time";
  if (proven == std::ssize(rows))
    return "complete " + in_time + (rows.size() == 1 ? "" : fmt::format(" at all {}", sizes));
  const std::string most = fmt::format("{:.2g} % of the bound {}",
                                       100 * excess(*std::ranges::max_element(rows, {}, excess)), in_time);
  if (proven == 0) return "within " + most;
  return fmt::format("{} of {} {} complete, the others within {}", proven, sizes, proven == 1 ? "is" : "are",
                     most);
}

std::vector<std::int64_t> usual_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

namespace {

// Time and bound at the usual sizes. In haste, since pages of large results are made, too.
SizeFigure figure_of(const Result& result) {
  SizeFigure figure{.title = name_of(result.collective) + " on " + result.topology.name,
                    .bus_factor = message_shape(result.collective).bus_factor};
  SizeCurve found{.name = "Chorale"}, bound{.kind = SizeCurve::Kind::Bound, .name = "bound"};
  const std::atomic<bool> in_haste = true;
  for (const SizeRow& row : best_by_size(result, usual_sizes(), {}, &in_haste)) {
    figure.message_bytes.push_back(row.message_bytes);
    found.us.push_back(row.us);
    bound.us.push_back(row.least_us);
  }
  if (!figure.message_bytes.empty()) figure.curves = {found, bound};
  return figure;
}

}  // namespace

// Without a gap only the number of steps is open.
std::string proven_by(const Result& result, const Point& point) {
  if (point.proven) return explain(result, point);
  if (point.bound.rounds == 0) return "not proven: nothing is known";
  const double percent = 100 * gap(point);
  if (percent == 0) return "rounds are proven, fewer steps are not excluded";
  return fmt::format("not proven: gap {:.1f} % to {}", percent,
                     fraction(point.bound.rounds, point.bound.chunks));
}

// Runs of two are listed as two numbers: "3, 4" is no longer than "3-4" and easier to read. "0-3, 5, 6, 9" of
// 0 1 2 3 5 6 9.
std::string ranges(std::vector<int> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (end > i) text += (end == i + 1 ? ", " : "-") + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

std::string under_abilities(const Topology& topology) {
  const std::string switches = in_words(abilities_of(topology));
  return switches.empty() ? ""
                          : "; its switches " + switches +
                                " (--switches-forward-only: links alone), and what is proven holds for such";
}

std::string algorithm_of(const Topology& topology, const Point& point) {
  const bool named = point.construction.find("in_network") != std::string::npos;
  return origin(point) + (!named && uses_abilities(topology, point.schedule) ? " in-network" : "");
}

std::string to_page(const Result& result, const SizeModel& model) {
  return to_page(result, best_sizes(result, model));
}

std::string to_page(const Result& result, const BestSizes& sizes, const std::atomic<bool>* stop) {
  const SizeFigure figure = figure_of(result);
  return to_page(result, sizes,
                 figure.curves.empty() ? Report() : Report{.figures = {size_figure_svg(figure)}}, stop);
}

std::string to_page(const Result& result, const BestSizes& sizes, const Report& report,
                    const std::atomic<bool>* stop) {
  const Rate bound = rate_bound(result);
  PageNotes notes{.bound_rounds = bound.rounds,
                  .bound_chunks = bound.chunks,
                  .best_sizes = sizes.words,
                  .report = report};
  for (const Point& point : result.points) notes.proven_by.push_back(proven_by(result, point));
  return to_html(result, notes, DrawingWork(stop));
}

std::string to_json(const Report& report) {
  return write_fields(report, CompactFields());
}

std::string to_page(const Report& report) {
  return filled_page(Page::Report, report.title + " - Chorale", to_json(report));
}

// The data of the page are the ranking's own file. Where that is too large, the last matrices are without the
// groups of their steps, as they are of machines of more devices, and then left out.
std::string to_page(const Ranking& ranking) {
  std::vector<std::string> axes;
  for (const Axis& axis : ranking.job.axes) axes.push_back(axis.name + " " + std::to_string(axis.size));
  const std::string report = fmt::format("\n\"report\": {},", to_json(report_of(ranking)));
  const auto data_of = [&](const Ranking& each) { return to_json(each).insert(1, report); };
  std::string data = data_of(ranking);
  if (data.size() > kMaxPageData) {
    Ranking less = ranking;
    for (std::size_t i = less.best.size(); i-- > 0 && data.size() > kMaxPageData; data = data_of(less))
      for (ReductionRanking& reduction : less.best[i].reductions)
        for (RankedStrategy& strategy : reduction.strategies) strategy.lowered = {};
    for (; less.best.size() > 1 && data.size() > kMaxPageData; data = data_of(less)) less.best.pop_back();
  }
  return filled_page(Page::Place,
                     ranking.hierarchy.name + " placement of " + joined(axes, " x ") + " - Chorale", data);
}

std::string to_page(const Topology& topology) {
  return to_page(topology, report_of(topology));
}

std::string to_page(const Topology& topology, const Report& report, const std::atomic<bool>* stop) {
  return machine_html(flatten(topology), report, DrawingWork(stop));
}

// Times of points by cost, a hash of the schedule, and size: a search asks for the same points again and
// again, in other results. The simulation runs without the lock, so two threads may time one point; both get
// the same number.

namespace {

// Of words. Rounds are complemented, so that a step cannot be mistaken for a send, whose highest bit
// is 0. Two schedules of equal cost and equal hash would share a time; among a million schedules, random
// hashes of 64 bits coincide with probability 3e-8.
std::uint64_t hash_of(const Schedule& schedule) {
  std::uint64_t hash = kFnvBasis;
  const auto add = [&](std::uint64_t word) { hash = fnv_with(hash, word); };
  for (const Step& step : schedule.steps) {
    add(~static_cast<std::uint64_t>(step.rounds));
    for (const Send& send : step.sends)
      add(static_cast<std::uint64_t>(send.chunk) << 32 | static_cast<std::uint32_t>(send.link) << 1 |
          (send.reduce ? 1 : 0));
  }
  return hash;
}

}  // namespace

PointTimes::Key PointTimes::key_of(const Point& point, double block_bytes) {
  const Cost& cost = point.cost;
  return {cost.steps, cost.rounds, cost.chunks, hash_of(point.schedule), block_bytes};
}

std::optional<double> PointTimes::known(const Point& point, double block_bytes) const {
  const Key key = key_of(point, block_bytes);
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(key);
  return at == known_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<double> PointTimes::us(const Point& point, double block_bytes, const std::atomic<bool>* stop) {
  if (const std::optional<double> us = known(point, block_bytes)) return us;
  const std::optional<double> us = point_us(machine_, model_, point, block_bytes, stop);
  if (!us) return {};
  const Key key = key_of(point, block_bytes);
  const std::lock_guard lock(mutex_);
  known_[key] = *us;
  return us;
}

}  // namespace chorale
