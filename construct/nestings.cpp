// A division is good where what is inside is wide, and blocks are alike; so both are measured, and nothing is
// searched.
#include "construct/nestings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "graph/embedding.h"

namespace chorale {
namespace {

constexpr std::size_t kMostNestings = 8;
// Of links inside of groups beside links across. Where all are alike (tori, meshes, hypercubes) nothing is
// inside, and a machine has many divisions, each of which would be tried for every chunk count.
constexpr double kLeastContrast = 1.4;

// Blocks that follow each other are the same graph, and each of them connected. Links are compared by the
// positions of their ends in the block, not up to isomorphism: ranks of a node are numbered alike.
bool are_alike(const Topology& topology, int size) {
  std::vector<Rank> first(size);
  std::iota(first.begin(), first.end(), 0);
  if (!all_reach_all(part_at(topology, first))) return false;
  using Line = std::tuple<Rank, Rank, int>;
  std::vector<std::vector<Line>> blocks(topology.ranks / size);
  for (const Link& link : topology.links)
    if (link.src / size == link.dst / size)
      blocks[link.src / size].push_back({link.src % size, link.dst % size, link.bandwidth});
  for (std::vector<Line>& lines : blocks) std::ranges::sort(lines);
  return std::ranges::all_of(blocks, [&](const auto& lines) { return lines == blocks.front(); });
}

// What each link has of the machine's bandwidth where all are used alike.
std::vector<double> shares(const Topology& topology) {
  std::vector<double> result;
  for (const Link& link : topology.links) result.push_back(link.bandwidth);
  for (const SharedLimit& limit : topology.limits)
    for (LinkId l : limit.links)
      result[l] =
          std::min(result[l], static_cast<double>(limit.bandwidth) / static_cast<double>(limit.links.size()));
  return result;
}

// How much more of it links inside of blocks of this size have than links across.
double contrast(const Topology& topology, const std::vector<double>& shares, int size) {
  double inside = 0, across = 0;
  int insides = 0, crossings = 0;
  for (std::size_t l = 0; l < shares.size(); ++l) {
    const bool crosses = topology.links[l].src / size != topology.links[l].dst / size;
    (crosses ? across : inside) += shares[l];
    ++(crosses ? crossings : insides);
  }
  if (insides == 0 || crossings == 0) return 0;
  return (inside / insides) / (across / crossings);
}

}  // namespace

// Of two levels of groups the less pronounced one counts. Sizes that are no divisors, or whose blocks differ,
// are not rated.
std::vector<Nesting> nestings(const Topology& topology) {
  struct Rated {
    double contrast = 0;
    Nesting nesting = {};
  };
  std::vector<Rated> rated;
  std::vector<int> sizes;
  std::map<int, double> contrasts;
  const std::vector<double> all = shares(topology);
  for (int size = 2; size <= topology.ranks / 2; ++size)
    if (topology.ranks % size == 0 && contrast(topology, all, size) >= kLeastContrast &&
        are_alike(topology, size)) {
      contrasts[size] = contrast(topology, all, size);
      sizes.push_back(size);
    }
  static const std::vector<std::string> kNames = {"rank", "node", "rack"};
  for (int inner : sizes) {
    rated.push_back(
        {contrasts[inner], {.names = {kNames[1], kNames[0]}, .fan_outs = {topology.ranks / inner, inner}}});
    for (int outer : sizes)
      if (outer > inner && outer % inner == 0)
        rated.push_back({std::min(contrasts[inner], contrasts[outer]),
                         {.names = {kNames[2], kNames[1], kNames[0]},
                          .fan_outs = {topology.ranks / outer, outer / inner, inner}}});
  }
  std::ranges::stable_sort(rated, std::greater(), &Rated::contrast);
  std::vector<Nesting> result;
  for (Rated& each : rated)
    if (result.size() < kMostNestings) result.push_back(std::move(each.nesting));
  return result;
}

}  // namespace chorale
