// Chunks are routed one after the other, and each uses what those before it have left: the price of a link is
// the rounds that it and the limits over it would need with this chunk as well, so the sum of squares of the
// loads is what is kept small. Balanced routes are found twice, the second time with all others known.
//
// Invariant: a walk back from a destination stops at the first rank that has the chunk or is on its tree, and
// every step of it comes nearer to a rank that has it; so the links are a forest.
//
// Not done: an exact concurrent flow (bounds/flow_lp.h has one) is fractional, must be rounded, and is a
// linear program where this is a walk; Steiner trees cost a search for each destination, and where a chunk
// has many, construct/spreading.cpp lets it come from any rank that has it, whatever its tree is.
#include "construct/routes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "construct/load.h"
#include "graph/paths.h"

namespace chorale {
namespace {

class Router {
 public:
  Router(const Topology& topology, const WorkBudget& effort)
      : topology_(topology),
        effort_(effort),
        load_(topology),
        into_(topology.ranks),
        out_of_(topology.ranks),
        on_tree_(topology.ranks, -1) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      into_[topology.links[l].dst].push_back(l);
      out_of_[topology.links[l].src].push_back(l);
    }
  }

  std::optional<Routes> shortest(const Collective& copies) {
    std::map<RankSet, std::vector<int>> known;
    Routes routes;
    for (const ChunkSpec& spec : copies.chunks) {
      if (effort_.stopped()) return std::nullopt;
      const auto [at, fresh] = known.try_emplace(spec.pre);
      if (fresh) at->second = hops(topology_, spec.pre);
      const std::vector<int>& distance = at->second;
      // Nearest first, so that those farther away find a tree to come to. What cannot be reached is -1 hops
      // away, hence first of all.
      std::vector<Rank> nearest_first(spec.post.begin(), spec.post.end());
      std::ranges::stable_sort(nearest_first, {}, [&](Rank n) { return distance[n]; });
      if (!nearest_first.empty() && distance[nearest_first.front()] < 0) return std::nullopt;
      routes.push_back(tree(spec.pre, nearest_first, [&](Rank n) { return way_back(distance, n); }));
    }
    return routes;
  }

  std::optional<Routes> balanced(const Collective& copies) {
    constexpr int kPasses = 2;
    Routes routes(copies.chunks.size());
    for (int pass = 0; pass < kPasses; ++pass)
      for (std::size_t c = 0; c < copies.chunks.size(); ++c) {
        if (effort_.stopped()) return std::nullopt;
        const ChunkSpec& spec = copies.chunks[c];
        // In the second pass it makes room for itself: the loads are those of all others.
        for (LinkId l : routes[c]) load_.add(l, -1);
        const std::vector<LinkId> back = cheapest_ways(spec);
        for (Rank n : spec.post)
          if (back[n] < 0 && !std::ranges::binary_search(spec.pre, n)) return std::nullopt;
        routes[c] = tree(spec.pre, spec.post, [&](Rank n) { return back[n]; });
      }
    return routes;
  }

 private:
  // Walks back from each destination by the link that `back` names, until it is on the tree. A branch is
  // found leaf first and reversed, so that the link into a rank stands before those out of it.
  std::vector<LinkId> tree(const RankSet& sources, std::span<const Rank> destinations,
                           const std::function<LinkId(Rank)>& back) {
    ++trees_;
    for (Rank n : sources) on_tree_[n] = trees_;
    std::vector<LinkId> links;
    for (Rank n : destinations) {
      const auto begun = static_cast<std::ptrdiff_t>(links.size());
      while (on_tree_[n] != trees_) {
        const LinkId l = back(n);
        on_tree_[n] = trees_;
        links.push_back(l);
        load_.add(l);
        n = topology_.links[l].src;
      }
      std::reverse(links.begin() + begun, links.end());
    }
    return links;
  }

  // Of the links that come a hop nearer: from a rank that gets the chunk anyway, then where least goes.
  LinkId way_back(const std::vector<int>& distance, Rank n) const {
    LinkId best = -1;
    std::pair<bool, double> least;
    for (LinkId l : into_[n]) {
      const Rank from = topology_.links[l].src;
      if (distance[from] != distance[n] - 1) continue;
      const std::pair<bool, double> cost = {on_tree_[from] != trees_, load_.price(l)};
      if (best < 0 || cost < least) {
        best = l;
        least = cost;
      }
    }
    return best;
  }

  // The last link of the cheapest path to each rank, -1 where there is none. Every price is above 0, so the
  // paths have no cycles.
  std::vector<LinkId> cheapest_ways(const ChunkSpec& spec) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return cheapest_paths(topology_.ranks, spec.pre, 0.0, kNever,
                          [&](Rank n, double so_far, const auto& reach) {
                            for (LinkId l : out_of_[n])
                              reach(topology_.links[l].dst, l, so_far + load_.price(l));
                          })
        .by;
  }

  const Topology& topology_;
  const WorkBudget& effort_;
  Load load_;
  std::vector<std::vector<LinkId>> into_, out_of_;
  std::vector<int> on_tree_;  // by rank: the last tree that it is on
  int trees_ = 0;
};

}  // namespace

std::optional<Routes> shortest_routes(const Topology& topology, const Collective& copies,
                                      const WorkBudget& effort) {
  return Router(topology, effort).shortest(copies);
}

std::optional<Routes> balanced_routes(const Topology& topology, const Collective& copies,
                                      const WorkBudget& effort) {
  return Router(topology, effort).balanced(copies);
}

}  // namespace chorale
