// What the finders of price certificates think about: chunks that are copied from any of some ranks to some
// ranks. A collective that combines comes to them as its dual.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// `amount` chunks that rank `to` must get from any rank of `from`.
struct Demand {
  RankSet from = {};
  Rank to = 0;
  std::int64_t amount = 1;
};

// Prices (one element for any number of steps, or one per step), and what they show: rounds * per_round >=
// owed.
struct PriceBound {
  std::vector<Prices> prices = {};
  std::int64_t owed = 0;
  std::int64_t per_round = 1;
};

Prices no_prices(const Topology&);
// What a send over each link pays: the link's price, and those of the limits over it.
std::vector<std::int64_t> link_weights(const Topology&, const Prices&);
// What prices charge for the bandwidth of a round; kMostPaid stands for all that is too large.
std::int64_t paid_per_round(const Topology&, const Prices&);
inline constexpr std::int64_t kMostPaid = std::int64_t{1} << 60;

// The classes of a collective that does not combine, with post reduced to the ranks that need a chunk and
// lack it; chunks that no rank needs are left out. By pre, then post.
std::vector<ChunkClass> wanted_classes(const Collective&);

bool stronger(const PriceBound&, const PriceBound&);
int rounds_shown(const PriceBound&);

// The destination to which each class of chunks is charged; kNotCharged: to none.
using Choice = std::vector<Rank>;
inline constexpr Rank kNotCharged = -1;

std::vector<Demand> demands(const std::vector<ChunkClass>&, const Choice&);

// What every class pays under prices (path costs as in ir/frontier.h), and to which destination: that of
// `choice` unless another is more expensive. Nothing if the prices overflow, or if a destination is out of
// reach.
struct Payment {
  PriceBound bound = {};
  Choice most_expensive = {};
};
std::optional<Payment> pay(const Topology&, const std::vector<ChunkClass>&, std::vector<Prices>, bool timed,
                           const Choice& choice);

// Integer prices; only ratios between prices count. In the same ratios where the values are close to
// fractions of small denominators, as duals of a vertex are; otherwise the nearest multiples of a millionth
// of the highest. `values`: [step] -> the prices of links and then of limits, nonnegative up to rounding.
// Empty if all are zero.
std::vector<Prices> integer_prices(std::vector<std::vector<double>> values, int links);

}  // namespace chorale
