// A node for each chunk that the rank lacks, joined to all that have it. Chunks that the same ranks have are one node.
#include "construct/guard.h"

#include <map>

#include "bounds/max_flow.h"

namespace chorale {

bool Guard::passes(const Holdings& holdings, int representative, long long rounds) const {
  const Rank v = ground_.representatives()[representative];
  std::map<std::vector<Rank>, int> lacking;  // by who has them
  int wanted = 0;
  for (Chunk c = 0; c < ground_.chunks(); ++c) {
    if (!holdings.lacks(representative, c)) continue;
    std::vector<Rank> having;
    for (Rank u = 0; u < ground_.ranks(); ++u)
      if (holdings.has(u, c)) having.push_back(u);
    ++lacking[std::move(having)];
    ++wanted;
  }
  if (wanted == 0) return true;
  if (rounds <= 0) return false;
  const int source = wires_.nodes;
  MaxFlow flow(source + 1 + static_cast<int>(lacking.size()));
  int node = source;
  for (const auto& [having, count] : lacking) {
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
  for (int i = 0; i < static_cast<int>(ground_.representatives().size()); ++i)
    if (!passes(holdings, i, rounds)) return false;
  return true;
}

}  // namespace chorale
