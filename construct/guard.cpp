// A node for all chunks that the same ranks have, joined to these. The holders are found once for all ranks:
// a rank lacks all chunks of a node or none.
#include "construct/guard.h"

#include <algorithm>

#include "bounds/max_flow.h"

namespace chorale {

bool Guard::passes(const Holders& holders, Rank v, long long rounds) const {
  const auto lacks = [&](const std::vector<Rank>& having) { return !std::ranges::binary_search(having, v); };
  int nodes = 0, wanted = 0;
  for (const auto& [having, count] : holders)
    if (lacks(having)) {
      ++nodes;
      wanted += count;
    }
  if (wanted == 0) return true;
  if (rounds <= 0) return false;
  const int source = wires_.nodes;
  MaxFlow flow(source + 1 + nodes);
  int node = source;
  for (const auto& [having, count] : holders) {
    if (!lacks(having)) continue;
    flow.add_arc(source, ++node, count);
    for (Rank u : having) flow.add_arc(node, u, count);
  }
  const Topology& topology = ground_.topology();
  for (const NetworkWire& wire : wires_.wires) {
    if (wire.from == v) continue;
    const long long wide = wire.link >= 0    ? topology.links[wire.link].bandwidth * rounds
                           : wire.limit >= 0 ? topology.limits[wire.limit].bandwidth * rounds
                                             : wanted;
    flow.add_arc(wire.from, wire.to, wide);
  }
  return flow.run(source, v) == wanted;
}

bool Guard::passes(const Holdings& holdings, long long rounds) const {
  Holders holders;
  for (Chunk c = 0; c < ground_.chunks(); ++c) {
    std::vector<Rank> having;
    for (Rank u = 0; u < ground_.ranks(); ++u)
      if (holdings.has(u, c)) having.push_back(u);
    ++holders[std::move(having)];
  }
  return std::ranges::all_of(ground_.representatives(), [&](Rank v) { return passes(holders, v, rounds); });
}

}  // namespace chorale
