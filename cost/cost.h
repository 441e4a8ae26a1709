// Time in the alpha-beta model: call + steps * alpha + rounds/chunks * bytes * beta, where `bytes` are those
// of one block (ir/collective.h: the unit of the chunks of a cost) and `call` is what a call costs, whatever
// it moves (Topology::call_us). It also gives, for a frontier, the fastest point by size.
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
  double call_us = 0;              // of a call
  bool operator==(const AlphaBeta&) const = default;
};

// Returns those of the machine's worst link, and of its calls.
AlphaBeta alpha_beta(const Topology&);

// Have all links one alpha and one beta?
bool have_equal_rates(const Topology&);

double time_us(const Cost&, const AlphaBeta&, double block_bytes);
double time_us(const Cost&, const Topology&, double block_bytes);

// The claimed rate of schedules of at most `steps` steps.
struct StepRate {
  int steps = 0;
  double rounds_per_chunk = 0;
};

// No schedule is faster: a call, and the larger of the alphas on the longest path of a chunk, and of a bound
// on rounds per chunk with the fastest link's beta. If all links have one alpha and one beta a schedule's
// time is its steps and rounds, and then it is the least, over all numbers of steps S, of S alpha and the
// highest rate that is claimed of at most S steps or of at most more.
class TimeBound {
 public:
  // Requires a machine without switches.
  TimeBound(const Topology&, const Collective&, double rounds_per_chunk, std::vector<StepRate> = {});
  double us(double block_bytes) const;

 private:
  double call_us_ = 0, latency_us_ = 0, us_per_byte_ = 0;
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

// Ranges of sizes as people write them.

std::string format_range(
    const SizeRange&);  // "below 1.5 KiB", "1.5 KiB to 3 MiB", "from 3 MiB", "any", "none"

// What a complete result excludes. Completeness is derived from claims about steps and rounds per chunk; it
// is one in time only where the cost model makes the time of steps and rounds, and only about the schedules
// that the claims are about. Text, JSON, pages and Python take their words from here.

// Each excludes more than the one before.
enum class Completeness {
  Open,            // nothing: the result is not complete
  StepsAndRounds,  // schedules of its space that are better in steps and rounds per chunk
  Time             // schedules that are faster, at any size, by point_us (cost/program_time.h)
};

// Time: the space has no limits, and all links have one alpha and one beta, so a time is
// steps * alpha + rounds/chunks * bytes * beta.
Completeness completeness(const Result&);
// "complete in steps and rounds per chunk; in time not, since links differ in latency or rate"; "" for Open.
std::string completeness_in_words(const Result&);

// Is this time the least? The bound holds for all schedules; both are sums of products, so they are equal up
// to 1e-9.
bool meets_bound(double us, double bound_us);
// "98.7 %": the bound over the time. "100.0 %" is of a time that meets the bound alone, and "99.9 %" of one
// that nearly does; "-" where one of them is not known.
std::string share_of_bound(double us, double bound_us);

// When messages that share a port should go one after the other (LoweringOptions::serialize_ports).

// Where chunks have more bytes than this. A chunk then takes so long over a link that a message's latency is
// less than 1 % of it: what one more epoch may cost is less than what it saves. Infinite where bytes cost
// nothing.
double serialized_above(const Topology&);

}  // namespace chorale
