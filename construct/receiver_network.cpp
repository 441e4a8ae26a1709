// Two nodes a bin, with its capacity between them. Where bins are nested (QuotientInstance::is_separate) a
// flow is what fits; where they are not, or weigh their links differently, more may flow than fits, and the
// caller must count again.
#include "construct/receiver_network.h"

#include <algorithm>
#include <map>
#include <set>

namespace chorale {

int ReceiverNetwork::nodes(const QuotientInstance& quotient, int representative) {
  std::set<int> bins;
  for (const Entry& entry : quotient.entries(representative))
    for (const Entry::Passed& p : entry.bins) bins.insert(p.bin);
  return 2 * static_cast<int>(bins.size());
}

// Entries with the same bins share their nodes: an arc is added once for each pair of bins that follow each
// other. Bins with the fewest links into the representative come first, so paths join towards the sink.
ReceiverNetwork::ReceiverNetwork(const QuotientInstance& quotient, int representative, MaxFlow& flow,
                                 int first, int sink)
    : quotient_(quotient) {
  std::map<int, std::size_t> neck_of;  // by bin
  std::set<std::pair<int, int>> joined;
  const auto entrance = [&](std::size_t neck) { return first + 2 * static_cast<int>(neck); };
  for (const Entry& entry : quotient.entries(representative)) {
    std::vector<std::size_t> way;
    for (const Entry::Passed& p : entry.bins) {
      const auto [at, fresh] = neck_of.try_emplace(p.bin, necks_.size());
      if (fresh) {
        const int node = entrance(at->second);
        necks_.push_back({.bin = p.bin, .weight = p.weight, .arc = flow.add_arc(node, node + 1, 0)});
      }
      necks_[at->second].weight = std::min(necks_[at->second].weight, p.weight);
      way.push_back(at->second);
    }
    for (std::size_t k = 0; k < way.size(); ++k) {
      const int from = entrance(way[k]) + 1, to = k + 1 < way.size() ? entrance(way[k + 1]) : sink;
      if (joined.insert({from, to}).second) flow.add_arc(from, to, MaxFlow::kUnbounded);
    }
    node_of_.push_back(entrance(way.front()));
  }
}

// A chunk takes `weight` of the bin; where weights of its links differ, the least of them, so that no flow
// that fits is refused.
long long ReceiverNetwork::room(const Neck& neck, long long rounds) const {
  return quotient_.bins()[neck.bin].capacity * rounds / neck.weight;
}

void ReceiverNetwork::set(MaxFlow& flow, long long rounds) const {
  for (const Neck& neck : necks_) flow.set_capacity(neck.arc, room(neck, rounds));
}

void ReceiverNetwork::widen(MaxFlow& flow, long long rounds) const {
  for (const Neck& neck : necks_) flow.widen(neck.arc, room(neck, rounds));
}

}  // namespace chorale
