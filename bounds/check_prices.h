// What prices of links and limits show. Shares no code with the finders of prices.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// rounds * paid_per_round >= owed, for every schedule; or what is wrong with the certificate.
struct ShownByPrices {
  __extension__ typedef __int128 Wide;
  std::string fault = {};
  Wide owed = 0;
  Wide paid_per_round = 0;
};

// Of a certificate of kind Weights, Partition, Trees, Cuts or Entries, for schedules of `steps` steps, where
// it has prices for each. Requires what bounds/check.cpp has seen to: ranks and links that exist, and a
// machine without switches but those below chosen paths.
ShownByPrices shown_by_prices(const Topology&, const Collective&, const Certificate&, int steps);

}  // namespace chorale
