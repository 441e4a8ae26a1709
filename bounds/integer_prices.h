// Real prices as integers.
#pragma once

#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Only ratios between prices count. Integers in the same ratios where the values look like fractions of small
// denominators, as duals of a vertex do; otherwise the nearest multiples of a millionth of the highest.
// `values`: by step, the links' and then the limits' prices, nonnegative up to rounding. Empty if all are
// zero.
std::vector<Prices> integer_prices(std::vector<std::vector<double>> values, int links);

}  // namespace chorale
