// A node for all chunks that the same ranks have, joined to these. The holders are found once for all ranks:
// a rank lacks all chunks of a node or none.
#include "construct/feasibility_oracle.h"

#include <algorithm>

#include "bounds/max_flow.h"

namespace chorale {

bool FeasibilityOracle::passes(const Holders& holders, Rank v, long long rounds) const {
  const auto lacks = [&](const std::vector<Rank>& having) { return !std::ranges::binary_search(having, v); };
  int nodes = 0, wanted = 0;
  for (const auto& [having, count] : holders)
    if (lacks(having)) {
      ++nodes;
      wanted += count;
    }
  if (wanted == 0) return true;
  if (rounds <= 0) return false;
  const int source = network_.nodes;
  MaxFlow flow(source + 1 + nodes);
  int node = source;
  for (const auto& [having, count] : holders) {
    if (!lacks(having)) continue;
    flow.add_arc(source, ++node, count);
    for (Rank u : having) flow.add_arc(node, u, count);
  }
  const Topology& topology = quotient_.topology();
  for (const NetworkArc& arc : network_.arcs) {
    if (arc.from == v) continue;
    const long long wide = arc.link >= 0    ? topology.links[arc.link].bandwidth * rounds
                           : arc.limit >= 0 ? topology.limits[arc.limit].bandwidth * rounds
                                            : wanted;
    flow.add_arc(arc.from, arc.to, wide);
  }
  return flow.run(source, v) == wanted;
}

bool FeasibilityOracle::passes(const Holdings& holdings, long long rounds) const {
  Holders holders;
  for (Chunk c = 0; c < quotient_.chunks(); ++c) {
    std::vector<Rank> having;
    for (Rank u = 0; u < quotient_.ranks(); ++u)
      if (holdings.has(u, c)) having.push_back(u);
    ++holders[std::move(having)];
  }
  return std::ranges::all_of(quotient_.representatives(), [&](Rank v) { return passes(holders, v, rounds); });
}

}  // namespace chorale
