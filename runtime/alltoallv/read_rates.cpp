// NAME=VALUE separated by commas, read from left to right; of a name that comes twice the last one counts. An
// empty text has the defaults.
#include "runtime/alltoallv/read_rates.h"

#include <algorithm>
#include <string>

#include "ir/error.h"
#include "ir/number_in.h"

namespace chorale {
namespace {

double number_of(std::string_view text, std::string_view word, std::string_view where) {
  const std::optional<double> value = number_in<double>(text);
  if (!value || *value < 0)
    throw InputError(std::string(where), "'" + std::string(word) + "' has no number of 0 or more",
                     "give e.g. nics=8,nic=50,node=450,latency=5 (GB/s, microseconds)");
  return *value;
}

}  // namespace

TierRates read_tier_rates(std::string_view text, std::string_view where) {
  TierRates rates;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::string_view name = word.substr(0, word.find('='));
    const double value = number_of(word.substr(std::min(word.size(), name.size() + 1)), word, where);
    if (name == "nics" && value == std::floor(value) && value <= 1'000'000)
      rates.nics = static_cast<int>(value);
    else if (name == "nic" && value > 0)
      rates.nic_gbs = value;
    else if (name == "node" && value > 0)
      rates.node_gbs = value;
    else if (name == "latency")
      rates.latency_us = value;
    else
      throw InputError(std::string(where),
                       "'" + std::string(word) + "' is not one of nics, nic, node, latency",
                       "give e.g. nics=8,nic=50,node=450,latency=5 (GB/s, microseconds; rates above 0)");
  }
  return rates;
}

}  // namespace chorale
