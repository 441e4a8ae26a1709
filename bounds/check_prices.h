// What prices of links and limits show. Shares no code with the finders of prices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

struct CheckedArc {
  int from = 0;
  int to = 0;
  std::int64_t weight = 0;  // >= 0, at most 2^40
};

// Returns the weight of the cheapest spanning arborescence out of vertex `root` (Chu and Liu 1965; Edmonds
// 1967); -1 where some vertex cannot be reached. Arcs are examined once for each round of contractions, of
// which there are at most as many as vertices.
std::int64_t arborescence_weight(int vertices, int root, std::vector<CheckedArc> arcs);

// What it costs at least that each of `receivers` knows of all vertices, in whatever order arcs are used and
// used again: the least, over them, of an arborescence into the one that first knows, and of an arc into each
// of the others, which are entered once more after that. -1 where there are none.
std::int64_t gossip_weight(int vertices, const std::vector<int>& receivers,
                           const std::vector<CheckedArc>& arcs);

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
