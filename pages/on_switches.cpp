// Routers that have ranks, as in a dragonfly or a torus of routers: the graph among them decides where they
// are, and ranks are beside theirs. A dragonfly is found by its groups: equal cliques of three routers or
// more, which are drawn on a circle, as its authors do (Kim et al., ISCA 2008).
#include <algorithm>
#include <cmath>
#include <set>

#include "ir/words.h"
#include "pages/placed.h"

namespace chorale {
namespace {

constexpr int kFewSwitches = 4;     // stand in a row
constexpr double kOfRouters = 2.9;  // units between neighbours, room for two ranks
constexpr double kBeside = 1.15;    // from a router to its ranks
constexpr double kNarrow = 0.9;     // router

using Groups = std::vector<std::vector<int>>;

std::size_t in_common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both.size();
}

// The node with as many of its neighbours as are joined to each other; those that share most come first.
// Greedy, and enough for a dragonfly: routers of one group share the rest of the group, routers of two groups
// little.
std::vector<int> clique_of(const Graph& g, int node, const std::vector<bool>& taken) {
  std::vector<int> next = g[node];
  std::ranges::stable_sort(next,
                           [&](int a, int b) { return in_common(g[a], g[node]) > in_common(g[b], g[node]); });
  std::vector<int> clique = {node};
  for (const int other : next)
    if (!taken[other] &&
        std::ranges::all_of(clique, [&](int member) { return std::ranges::binary_search(g[other], member); }))
      clique.push_back(other);
  std::ranges::sort(clique);
  return clique;
}

// Three cliques or more, of one size, at least three; else none.
Groups equal_cliques(const Graph& g) {
  Groups groups;
  std::vector<bool> taken(g.size(), false);
  for (int node = 0; node < static_cast<int>(g.size()); ++node) {
    if (taken[node]) continue;
    groups.push_back(clique_of(g, node, taken));
    for (const int member : groups.back()) taken[member] = true;
    if (groups.back().size() < 3 || groups.back().size() != groups.front().size()) return {};
  }
  return groups.size() < 3 ? Groups() : groups;
}

struct Direction {
  double x = 0, y = 0;
};

Direction from_to(const Spot& from, const Spot& to) {
  const double length = std::max(apart(from, to), 1e-9);
  return {.x = (to.x - from.x) / length, .y = (to.y - from.y) / length};
}

// Routers are numbered from 0 here; as nodes of the picture they follow the ranks.
class OnSwitches {
 public:
  explicit OnSwitches(const Parts& parts) : parts_(parts), graph_(graph_among(parts, routers(parts))) {}

  Placed place() {
    Placed p = unplaced(parts_);
    const Groups groups = equal_cliques(graph_);
    if (groups.empty())
      place_as_graph(p);
    else
      place_groups(p, groups);
    return p;
  }

 private:
  static std::vector<int> routers(const Parts& parts) {
    std::vector<int> nodes;
    for (int n = parts.t.ranks; n < static_cast<int>(parts.near.size()); ++n) nodes.push_back(n);
    return nodes;
  }
  std::vector<Rank> ranks_of(int router) const {
    std::vector<Rank> ranks;
    for (const int n : parts_.near[parts_.t.ranks + router])
      if (n < parts_.t.ranks) ranks.push_back(n);
    return ranks;
  }
  // Its ranks side by side, in the direction from it: on a line across that direction, centred on it.
  void put(Placed& p, int router, const Spot& at, const Direction& away) const {
    PictureNode& node = p.nodes[parts_.t.ranks + router];
    node.at = at;
    node.width = kNarrow;
    const std::vector<Rank> ranks = ranks_of(router);
    const std::vector<double> beside = evenly(0, 0, ranks.size(), 1.05);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      p.nodes[ranks[i]].at = {.x = at.x + kBeside * away.x + beside[i] * away.y,
                              .y = at.y + kBeside * away.y - beside[i] * away.x};
  }

  void place_as_graph(Placed& p) const {
    const Arrangement among = arrange(graph_, *parts_.work);
    for (std::size_t i = 0; i < among.spots.size(); ++i)
      put(p, static_cast<int>(i), {.x = kOfRouters * among.spots[i].x, .y = kOfRouters * among.spots[i].y},
          {.x = 0, .y = 1});
    p.shape = counted(std::ssize(graph_), "switch", "switches") + " with ranks" +
              (among.shape.empty() ? "" : ", " + among.shape);
  }

  // Each group is a circle of routers with its ranks outside; the circle of groups has room for two such
  // radii between neighbours.
  void place_groups(Placed& p, const Groups& groups) const {
    std::size_t most = 1;
    for (int router = 0; router < static_cast<int>(graph_.size()); ++router)
      most = std::max(most, ranks_of(router).size());
    const double wide = std::max(1.9, 1.05 * static_cast<double>(most));
    const std::vector<Spot> inside = circle_of(static_cast<int>(groups.front().size()), wide);
    const double radius = std::hypot(inside[0].x, inside[0].y) + kBeside + 0.8;
    const std::vector<Spot> middles = circle_of(static_cast<int>(groups.size()), 2 * radius);
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (std::size_t i = 0; i < inside.size(); ++i)
        put(p, groups[group][i], {.x = middles[group].x + inside[i].x, .y = middles[group].y + inside[i].y},
            from_to({}, inside[i]));
    p.shape = counted(std::ssize(groups), "group") + " of " + std::to_string(inside.size()) + " switches";
  }

  const Parts& parts_;
  const Graph graph_;
};

}  // namespace

// A rank with several switches, or with a direct link, has no router that it could stand beside.
bool has_ranks_on_all_switches(const Parts& parts) {
  const int ranks = parts.t.ranks;
  const auto is_rank = [&](int n) { return n < ranks; };
  if (parts.switches() <= kFewSwitches) return false;
  for (Rank r = 0; r < ranks; ++r)
    if (parts.near[r].size() != 1 || is_rank(*parts.near[r].begin())) return false;
  for (int s = ranks; s < ranks + parts.switches(); ++s)
    if (std::ranges::none_of(parts.near[s], is_rank)) return false;
  return true;
}

Placed place_on_switches(const Parts& parts) {
  return OnSwitches(parts).place();
}

}  // namespace chorale
