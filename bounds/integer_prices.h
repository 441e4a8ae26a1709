// Real prices as integers.
#pragma once

#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Integer prices; only ratios between prices count. In the same ratios where the values are close to
// fractions of small denominators, as duals of a vertex are; otherwise the nearest multiples of a millionth
// of the highest. `values`: [step] -> the prices of links and then of limits, nonnegative up to rounding.
// Empty if all are zero.
std::vector<Prices> integer_prices(std::vector<std::vector<double>> values, int links);

}  // namespace chorale
