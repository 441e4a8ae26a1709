// A point's time is a line over the size: its intercept is a call and steps times alpha, its slope is rounds
// per chunk times beta. The best point by size is the lower envelope of these lines, which the call, equal
// for all, does not change. It is walked and not sorted: points are few, and a step of the walk examines all
// of them.
#include "cost/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "graph/paths.h"
#include "ir/words.h"

namespace chorale {
namespace {

double rate(const Cost& cost) {
  return static_cast<double>(cost.rounds) / cost.chunks;
}

// Is a the better choice from x on to the right? Less rounds per chunk, or as many and less steps.
bool flatter(const Cost& a, const Cost& b) {
  const int rates = compare_rate(a, b);
  return rates < 0 || (rates == 0 && a.steps < b.steps);
}

// Of pairs of a rank and a link: 4,096 ranks with 24,414 links.
constexpr std::size_t kMostWork = 100'000'000;

// By node: the least sum of alphas on a path there from the rank. Latencies are not negative.
std::vector<double> latencies_from(const Topology& topology, const std::vector<std::vector<LinkId>>& out,
                                   Rank from) {
  return cheapest_paths(topology.ranks, std::vector<Rank>{from}, 0.0, kAnySize,
                        [&](Node n, double us, const auto& reach) {
                          for (const LinkId l : out[n])
                            reach(topology.links[l].dst, l, us + topology.links[l].alpha_us);
                        })
      .cost;
}

// Of the chunk with the longest path, or, if the pairs of ranks and links are too many to examine, of one
// link.
// Chunks with the same sources and destinations have the same latency. Mostly they follow each other, so only
// neighbours are compared.
double least_latency_us(const Topology& topology, const Collective& collective) {
  if (static_cast<std::size_t>(topology.ranks) * topology.links.size() > kMostWork) {
    double least = kAnySize;
    for (const Link& link : topology.links) least = std::min(least, link.alpha_us);
    const bool moves = std::ranges::any_of(collective.chunks, [](const ChunkSpec& chunk) {
      return std::ranges::any_of(chunk.post, [&](Rank to) { return !starts_at(chunk, to); });
    });
    return moves ? least : 0;
  }
  std::vector<std::vector<LinkId>> out(static_cast<std::size_t>(topology.ranks));
  for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l)
    out[topology.links[l].src].push_back(l);
  std::vector<std::vector<double>> known(static_cast<std::size_t>(topology.ranks));
  double longest = 0;
  const ChunkSpec* last = nullptr;
  for (const ChunkSpec& chunk : collective.chunks) {
    if (last != nullptr && last->pre == chunk.pre && last->post == chunk.post) continue;
    last = &chunk;
    for (const Rank to : chunk.post) {
      double of_all = 0, of_nearest = kAnySize;
      for (const Rank from : chunk.pre) {
        if (known[from].empty()) known[from] = latencies_from(topology, out, from);
        of_all = std::max(of_all, known[from][to]);
        of_nearest = std::min(of_nearest, known[from][to]);
      }
      longest = std::max(longest, collective.combining ? of_all : of_nearest);
    }
  }
  return longest;
}

}  // namespace

// Latency and bandwidth bound apart: max(a, b). Where all links have one alpha and one beta they bound
// together: s steps take s * alpha, and a claim about at most s steps may have more rounds per chunk than one
// about any number of steps. by_steps_[i] is for fewest_ + i steps, the maximum over all claims of as many
// steps or more.
TimeBound::TimeBound(const Topology& topology, const Collective& collective, double rounds_per_chunk,
                     std::vector<StepRate> claimed)
    : call_us_(topology.call_us), latency_us_(least_latency_us(topology, collective)) {
  if (topology.links.empty()) return;
  const auto fastest = std::ranges::min_element(topology.links, {}, &Link::beta_us_per_byte);
  us_per_byte_ = rounds_per_chunk * fastest->beta_us_per_byte;
  if (!have_equal_rates(topology) || topology.links.front().alpha_us <= 0) return;
  alpha_us_ = topology.links.front().alpha_us;
  fewest_ = static_cast<int>(std::lround(latency_us_ / alpha_us_));
  std::ranges::sort(claimed, std::greater(), &StepRate::steps);
  for (const StepRate& each : claimed) {
    if (each.steps < fewest_) break;
    const auto steps = static_cast<std::size_t>(each.steps - fewest_) + 1;
    if (by_steps_.size() < steps) by_steps_.resize(steps, us_per_byte_);
    for (std::size_t s = 0; s < steps; ++s)
      by_steps_[s] = std::max(by_steps_[s], each.rounds_per_chunk * fastest->beta_us_per_byte);
  }
}

// The first term is of more steps than any claim is about; each other one of fewest_ + s steps.
double TimeBound::us(double block_bytes) const {
  if (alpha_us_ <= 0) return call_us_ + std::max(latency_us_, us_per_byte_ * block_bytes);
  double least = alpha_us_ * (fewest_ + static_cast<double>(by_steps_.size())) + us_per_byte_ * block_bytes;
  for (std::size_t s = 0; s < by_steps_.size(); ++s)
    least = std::min(least, alpha_us_ * (fewest_ + static_cast<double>(s)) + by_steps_[s] * block_bytes);
  return call_us_ + least;
}

AlphaBeta alpha_beta(const Topology& topology) {
  return {.alpha_us = step_alpha_us(topology),
          .beta_us_per_byte = round_beta_us_per_byte(topology),
          .call_us = topology.call_us};
}

bool have_equal_rates(const Topology& topology) {
  return std::ranges::all_of(topology.links, [&](const Link& link) {
    return link.alpha_us == topology.links.front().alpha_us &&
           link.beta_us_per_byte == topology.links.front().beta_us_per_byte;
  });
}

double time_us(const Cost& cost, const AlphaBeta& model, double block_bytes) {
  return model.call_us + cost.steps * model.alpha_us + rate(cost) * block_bytes * model.beta_us_per_byte;
}

double time_us(const Cost& cost, const Topology& topology, double block_bytes) {
  return time_us(cost, alpha_beta(topology), block_bytes);
}

// Walks along the envelope from size 0: the line that it is on loses to the flatter line that it meets first.
// It ends, since each is flatter than the one before. Comparisons of slopes are exact; only the sizes at
// which lines meet are floating point. Where three meet in one point, the flattest is taken, and the one
// between gets no size.
std::vector<SizeRange> best_sizes(std::span<const Cost> costs, double alpha_us, double beta_us_per_byte) {
  assert(alpha_us >= 0 && beta_us_per_byte >= 0 && std::isfinite(alpha_us) &&
         std::isfinite(beta_us_per_byte));
  std::vector<SizeRange> ranges(costs.size());
  if (costs.empty()) return ranges;

  // Without a price the steps, or the rounds, do not distinguish points.
  const auto start = [&](const Cost& cost) { return alpha_us > 0 ? cost.steps : 0; };
  std::size_t on = 0;
  for (std::size_t i = 1; i < costs.size(); ++i)
    if (start(costs[i]) < start(costs[on]) ||
        (start(costs[i]) == start(costs[on]) && flatter(costs[i], costs[on])))
      on = i;

  double from = 0;
  while (beta_us_per_byte > 0) {
    std::size_t next = on;
    double meets = kAnySize;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (compare_rate(costs[i], costs[on]) >= 0) continue;
      const double at = (costs[i].steps - costs[on].steps) * alpha_us /
                        ((rate(costs[on]) - rate(costs[i])) * beta_us_per_byte);
      if (at < meets || (at == meets && flatter(costs[i], costs[next]))) {
        meets = at;
        next = i;
      }
    }
    if (next == on) break;
    ranges[on] = {.from = from, .to = meets};
    from = meets;
    on = next;
  }
  ranges[on] = {.from = from, .to = kAnySize};
  return ranges;
}

std::vector<SizeRange> best_sizes(std::span<const Point> points, double alpha_us, double beta_us_per_byte) {
  std::vector<Cost> costs;
  for (const Point& point : points) costs.push_back(point.cost);
  return best_sizes(std::span<const Cost>(costs), alpha_us, beta_us_per_byte);
}

// For times that are simulated and are no lines: doubling finds the intervals in which the fastest
// changes, bisection (geometric, to 0.1 %) where. A schedule that is the fastest only inside of one
// doubling is not found unless a midpoint hits it.
std::vector<std::vector<SizeRange>> fastest_sizes(std::size_t count,
                                                  const std::function<double(std::size_t, double)>& us) {
  constexpr double kSmallest = 64, kLargest = 1e12, kKnown = 1.001;
  std::vector<std::vector<SizeRange>> ranges(count);
  if (count == 0) return ranges;
  const auto fastest = [&](double bytes) {
    std::size_t best = 0;
    double least = us(0, bytes);
    for (std::size_t i = 1; i < count; ++i)
      if (const double time = us(i, bytes); time < least) {
        least = time;
        best = i;
      }
    return best;
  };
  double from = 0;  // of what is the fastest at `low`
  double low = 0;
  std::size_t on = fastest(0);
  const std::function<void(double, std::size_t)> go_on_to = [&](double high, std::size_t then) {
    while (on != then && high > low * kKnown && high > 1) {
      const double middle = low < kSmallest ? (low + high) / 2 : std::sqrt(low * high);
      const std::size_t between = fastest(middle);
      if (between != on && between != then) go_on_to(middle, between);
      (between == on ? low : high) = middle;
    }
    if (on != then) {
      ranges[on].push_back({.from = from, .to = high});
      from = high;
      on = then;
    }
    low = high;
  };
  for (double bytes = kSmallest; bytes < kLargest; bytes *= 2) go_on_to(bytes, fastest(bytes));
  ranges[on].push_back({.from = from, .to = kAnySize});
  return ranges;
}

// The bounds of a range are sizes at which two lines meet: floating-point numbers, printed to three digits.

std::string format_range(const SizeRange& range) {
  if (range.empty()) return "none";
  // Three lines through one point, and the rounding of it.
  if (range.from > 0 && range.to <= range.from * (1 + 1e-9)) return "none";
  if (range.to == kAnySize) return range.from == 0 ? "any" : "from " + format_bytes(range.from);
  if (range.from == 0) return "below " + format_bytes(range.to);
  return format_bytes(range.from) + " to " + format_bytes(range.to);
}

namespace {

bool has_limits(const Space& space) {
  return space.min_chunks > 1 || space.max_chunks != kAnyChunks || space.max_steps != kAnySteps ||
         space.max_rounds != kAnyRounds || space.extra_rounds != kAnyRounds;
}

}  // namespace

// More than the fewest chunks exclude nothing: a schedule's chunks can be cut, at the same time. They count
// as a limit nevertheless, since that is not what the claims state.
Completeness completeness(const Result& result) {
  if (!result.complete) return Completeness::Open;
  const bool of_all = result.kind == ResultKind::Frontier && !has_limits(result.space);
  return of_all && have_equal_rates(result.topology) ? Completeness::Time : Completeness::StepsAndRounds;
}

std::string completeness_in_words(const Result& result) {
  switch (completeness(result)) {
    case Completeness::Open:
      return "";
    case Completeness::Time:
      return "complete in time by steps, no schedule is faster";
    case Completeness::StepsAndRounds:
      break;
  }
  return fmt::format("complete in steps and rounds per chunk; in time not, since {}",
                     have_equal_rates(result.topology) ? "chunks, steps or rounds were limited"
                                                       : "links differ in latency or rate");
}

bool meets_bound(double us, double bound_us) {
  return us <= bound_us * (1 + 1e-9);
}

std::string share_of_bound(double us, double bound_us) {
  if (!(us > 0) || !(bound_us > 0)) return "-";
  if (meets_bound(us, bound_us)) return "100.0 %";
  return fmt::format("{:.1f} %", std::min(99.9, 100 * bound_us / us));
}

// Of the worst latency and the worst rate, as a step has them: bytes x beta >= 100 alpha.

double serialized_above(const Topology& topology) {
  const double us_per_byte = round_beta_us_per_byte(topology);
  return us_per_byte > 0 ? 100 * step_alpha_us(topology) / us_per_byte
                         : std::numeric_limits<double>::infinity();
}

}  // namespace chorale
