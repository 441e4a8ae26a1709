// Time in the alpha-beta model: steps * alpha + rounds/chunks * bytes * beta, where `bytes` are those of one
// block (ir/collective.h: the unit of the chunks of a cost). It also gives, for a frontier, the fastest point
// by size.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

struct AlphaBeta {
  double alpha_us = 1.0;           // of a step
  double beta_us_per_byte = 4e-5;  // of a round that moves one byte over each unit of bandwidth
  bool operator==(const AlphaBeta&) const = default;
};

// Those of the machine's worst link.
AlphaBeta alpha_beta(const Topology&);

// Have all links one alpha and one beta?
bool links_alike(const Topology&);

double time_us(const Cost&, const AlphaBeta&, double block_bytes);
double time_us(const Cost&, const Topology&, double block_bytes);

// The claimed rate of schedules of at most `steps` steps.
struct StepRate {
  int steps = 0;
  double rounds_per_chunk = 0;
};

// No schedule is faster: the larger of the alphas on the longest path of a chunk, and of a bound on rounds
// per chunk with the fastest link's beta. If all links have one alpha and one beta a schedule's time is its
// steps and rounds, and then it is the least, over all numbers of steps S, of S alpha and the highest rate
// that is claimed of at most S steps or of at most more.
class TimeBound {
 public:
  // Requires a machine without switches.
  TimeBound(const Topology&, const Collective&, double rounds_per_chunk, std::vector<StepRate> = {});
  double us(double block_bytes) const;

 private:
  double latency_us_ = 0, us_per_byte_ = 0;
  double alpha_us_ = 0;                // of all links alike, or 0
  std::vector<double> by_steps_ = {};  // us per byte, from the fewest steps on; alike
  int fewest_ = 0;
};

// Bytes of a block from `from` up to but not including `to`, which may be infinity.
struct SizeRange {
  double from = 0;
  double to = 0;
  bool empty() const { return !(from < to); }
  bool operator==(const SizeRange&) const = default;
};

inline constexpr double kAnySize = std::numeric_limits<double>::infinity();

// For each point the sizes at which it is the fastest: the lower envelope of the times as lines over the
// size. The ranges cover [0, infinity) without overlap, and a larger size never has more rounds per chunk.
// Empty for a point that is nowhere the fastest, which happens on the frontier too; of points with equal cost
// the first counts. Requires alpha and beta >= 0 and finite, chunks >= 1.
std::vector<SizeRange> best_sizes(std::span<const Cost>, double alpha_us, double beta_us_per_byte);
std::vector<SizeRange> best_sizes(std::span<const Point>, double alpha_us, double beta_us_per_byte);

// The same for times that are not lines: us(i, block_bytes) of `count` algorithms, i from 0. It is evaluated
// at powers of two, and between two of them with different answers until the size at which the answer changes
// is known to a thousandth. An algorithm may be the fastest in several ranges.
std::vector<std::vector<SizeRange>> fastest_sizes(std::size_t count,
                                                  const std::function<double(std::size_t, double)>& us);

}  // namespace chorale
