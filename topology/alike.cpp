// One-dimensional Weisfeiler-Leman refinement. A node's new colour is its old one with the sorted colours of
// its links, so classes are only ever split, and a round that leaves their number leaves them all. Ranks
// begin with one colour, switches with another.
#include "topology/alike.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace chorale {
namespace {

using LinkColour = std::tuple<bool, int, double, double, std::vector<std::pair<int, int>>, int>;
using NodeColour = std::pair<int, std::vector<LinkColour>>;

// Of a limit: its bandwidth, and how many links it is over and what it can do, as one number.
int size_and_abilities(const SharedLimit& limit) {
  return 4 * static_cast<int>(limit.links.size()) + 2 * limit.abilities.multicast + limit.abilities.reduce;
}

// Of a link as its node sees it: does it lead away, what it can do, its limits, the colour at its other end.
LinkColour colour_of(const Topology& topology, LinkId l, bool away, const std::vector<int>& nodes) {
  const Link& link = topology.links[l];
  std::vector<std::pair<int, int>> limits;
  for (const SharedLimit& limit : topology.limits)
    if (std::ranges::binary_search(limit.links, l))
      limits.emplace_back(limit.bandwidth, size_and_abilities(limit));
  std::ranges::sort(limits);
  return {
      away, link.bandwidth, link.alpha_us, link.beta_us_per_byte, limits, nodes[away ? link.dst : link.src]};
}

std::vector<int> refined(const Topology& topology, const std::vector<int>& nodes) {
  std::vector<NodeColour> colours;
  for (const int colour : nodes) colours.push_back({colour, {}});
  for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l) {
    colours[topology.links[l].src].second.push_back(colour_of(topology, l, true, nodes));
    colours[topology.links[l].dst].second.push_back(colour_of(topology, l, false, nodes));
  }
  // Colours are numbered anew in each round: as they are, they would grow with the rounds.
  std::map<NodeColour, int> numbers;
  for (NodeColour& colour : colours) {
    std::ranges::sort(colour.second);
    numbers.emplace(colour, static_cast<int>(numbers.size()));
  }
  std::vector<int> result;
  for (const NodeColour& colour : colours) result.push_back(numbers.at(colour));
  return result;
}

}  // namespace

std::vector<Rank> different_ranks(const Topology& topology) {
  std::vector<int> nodes(static_cast<std::size_t>(topology.ranks + topology.switches), 1);
  std::fill_n(nodes.begin(), topology.ranks, 0);
  for (std::size_t classes = 0;;) {
    nodes = refined(topology, nodes);
    const std::size_t now = std::set<int>(nodes.begin(), nodes.end()).size();
    if (now == classes) break;
    classes = now;
  }
  std::set<int> seen;
  std::vector<Rank> ranks;
  for (Rank n = 0; n < topology.ranks; ++n)
    if (seen.insert(nodes[n]).second) ranks.push_back(n);
  return ranks;
}

}  // namespace chorale
