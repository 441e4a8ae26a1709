// A point's time is a line over the size: steps times alpha where it starts, rounds per chunk times beta its
// slope. Which point is best at which size is the lower envelope of these lines. It is walked and not sorted:
// points are few, and a step of the walk looks at all of them.
#include "cost/cost.h"

#include <cassert>
#include <cmath>

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

}  // namespace

AlphaBeta alpha_beta(const Topology& topology) {
  return {.alpha_us = step_alpha_us(topology), .beta_us_per_byte = round_beta_us_per_byte(topology)};
}

double time_us(const Cost& cost, const AlphaBeta& model, double block_bytes) {
  return cost.steps * model.alpha_us + rate(cost) * block_bytes * model.beta_us_per_byte;
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

  // Without a price the steps, or the rounds, do not tell points apart.
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

}  // namespace chorale
