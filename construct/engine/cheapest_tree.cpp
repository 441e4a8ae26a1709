// A rank that joins the tree is offered again, at the cost of going on from it. A rank that is no target
// joins when a path to a target goes over it.
#include "construct/engine/cheapest_tree.h"

#include <algorithm>
#include <limits>

namespace chorale {

namespace {

// Is every rank below `ranks` a source or a target?
bool reaches_all(int ranks, const RankSet& sources, const RankSet& targets) {
  const auto wanted = static_cast<std::size_t>(ranks);
  if (targets.size() == wanted) return true;
  if (targets.size() + sources.size() < wanted) return false;
  std::size_t both = 0;
  for (const Rank n : sources) both += targets.contains(n) ? 1 : 0;
  return targets.size() + sources.size() - both == wanted;
}

}  // namespace

CheapestTree::CheapestTree(const Network& network) : network_(network), wanted_(network.ranks(), false) {}

void CheapestTree::start(const RankSet& sources) {
  const auto ranks = static_cast<std::size_t>(network_.ranks());
  cost_.assign(ranks, std::numeric_limits<double>::infinity());
  via_.assign(ranks, -1);
  depth_.assign(ranks, 0);
  in_tree_.assign(ranks, false);
  offers_ = {};
  for (const Rank n : sources) {
    cost_[n] = 0;
    in_tree_[n] = true;
    offers_.push({0, n});
  }
}

// `base` is the cost up to n. Of a rank of the tree that is the price of its depth alone: the links of the
// tree are taken in any case.
void CheapestTree::relax(Rank n, double base, bool backwards, std::span<const double> prices,
                         double per_hop) {
  const std::span<const Network::Arc> arcs = network_.arcs(n, backwards);
  relaxations_ += std::ssize(arcs);
  for (const auto [link, to] : arcs) {
    const double with = base + prices[link] + per_hop;
    if (in_tree_[to] || with >= cost_[to]) continue;
    cost_[to] = with;
    via_[to] = link;
    offers_.push({with, to});
  }
}

// Prepares exact trees from these sources. These are one vertex: arcs into them are left out, arcs out of
// them begin at the first. Without sources the contracted graph serves all roots.
void CheapestTree::contract(const RankSet& sources, bool backwards, std::span<const double> prices) {
  Exact& exact = exact_[backwards ? 1 : 0];
  start(sources);
  exact.arcs.clear();
  exact.link_of.clear();
  for (LinkId l = 0; l < network_.links(); ++l) {
    const Rank from = backwards ? network_.dst(l) : network_.src(l);
    const Rank to = backwards ? network_.src(l) : network_.dst(l);
    if (in_tree_[to]) continue;
    exact.arcs.push_back({.from = in_tree_[from] ? sources.front() : from, .to = to, .weight = prices[l]});
    exact.link_of.push_back(l);
  }
  // Further sources are reached for nothing.
  for (const Rank n : sources)
    if (n != sources.front()) {
      exact.arcs.push_back({.from = sources.front(), .to = n, .weight = 0});
      exact.link_of.push_back(-1);
    }
  const long long before = exact.trees.work();
  exact.trees.contract(network_.ranks(), exact.arcs);
  relaxations_ += exact.trees.work() - before;
}

// The links of the contracted graph's tree of that root, from the root outwards. Breadth first, so that each
// comes after the one into its source. Arcs between sources are no links of the machine, and are left out.
double CheapestTree::append(Rank root, bool backwards, std::span<const double> prices,
                            std::vector<LinkId>& links) {
  Exact& exact = exact_[backwards ? 1 : 0];
  if (exact.trees.cost(root) < 0) return -1;
  exact.trees.arcs_into(root, into_);
  below_.resize(network_.ranks());
  for (std::vector<LinkId>& below : below_) below.clear();
  double sum = 0;
  for (const int a : into_) {
    if (a < 0 || exact.link_of[a] < 0) continue;
    const LinkId l = exact.link_of[a];
    below_[exact.arcs[a].from].push_back(l);
    sum += prices[l];
  }
  path_.assign(1, root);
  for (std::size_t i = 0; i < path_.size(); ++i)
    for (const LinkId l : below_[path_[i]]) {
      links.push_back(l);
      path_.push_back(backwards ? network_.src(l) : network_.dst(l));
    }
  return sum;
}

double CheapestTree::span_exactly(const RankSet& sources, bool backwards, std::span<const double> prices,
                                  std::vector<LinkId>& links) {
  contract(sources, backwards, prices);
  return append(sources.front(), backwards, prices, links);
}

// Every rank contributes and needs the sum: the best of all roots. The contracted graphs, one for each
// direction, give the cost of each root; only the two trees of the best one are read off.
double CheapestTree::through_any(std::span<const double> prices, ChunkTree& tree) {
  contract({}, true, prices);
  contract({}, false, prices);
  Rank best = -1;
  double least = 0;
  for (Rank n = 0; n < network_.ranks(); ++n) {
    const double up = exact_[1].trees.cost(n), down = exact_[0].trees.cost(n);
    if (up < 0 || down < 0 || (best >= 0 && up + down >= least)) continue;
    best = n;
    least = up + down;
  }
  if (best < 0) return -1;
  const double up = append(best, true, prices, tree.links);
  std::ranges::reverse(tree.links);  // from the leaves on
  tree.ups = static_cast<int>(tree.links.size());
  return up + append(best, false, prices, tree.links);
}

// One Dijkstra search. When the cheapest rank that is wanted comes out of the heap, its path joins the tree,
// and the ranks of the path are offered again at the price of their depth alone. Older offers stay in the
// heap and are skipped, as they cost more than what is known by then.
double CheapestTree::span(const RankSet& sources, const RankSet& targets, bool backwards,
                          std::span<const double> prices, double per_hop, std::vector<LinkId>& links) {
  if (per_hop == 0 && reaches_all(network_.ranks(), sources, targets))
    return span_exactly(sources, backwards, prices, links);
  start(sources);
  int missing = 0;
  for (const Rank n : targets) {
    wanted_[n] = !in_tree_[n];
    missing += wanted_[n] ? 1 : 0;
  }
  double sum = 0;
  while (missing > 0 && !offers_.empty()) {
    const auto [cost, n] = offers_.top();
    offers_.pop();
    if (cost > cost_[n]) continue;
    if (!wanted_[n]) {
      relax(n, cost, backwards, prices, per_hop);
      continue;
    }
    path_.clear();
    for (Rank at = n; !in_tree_[at];) {
      path_.push_back(at);
      at = backwards ? network_.dst(via_[at]) : network_.src(via_[at]);
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
      const LinkId link = via_[*at];
      links.push_back(link);
      sum += prices[link];
      depth_[*at] = depth_[backwards ? network_.dst(link) : network_.src(link)] + 1;
      in_tree_[*at] = true;
      missing -= wanted_[*at] ? 1 : 0;
      wanted_[*at] = false;
      cost_[*at] = per_hop * depth_[*at];
      offers_.push({cost_[*at], *at});
    }
  }
  for (const Rank n : targets) wanted_[n] = false;
  return missing > 0 ? -1 : sum;
}

// A tree backwards from the root to all contributors, its links in reverse order, so that leaves come first;
// then a tree from the root to all destinations.
double CheapestTree::through(Rank root, const ChunkClass& chunks, std::span<const double> prices,
                             double per_hop, ChunkTree& tree) {
  tree.links.clear();
  const double up = span({root}, chunks.pre, true, prices, per_hop, tree.links);
  if (up < 0) return -1;
  std::ranges::reverse(tree.links);  // from the leaves on
  // A root that only receives what one other has is none: the sum is complete there before.
  while (!chunks.pre.contains(root) && !tree.links.empty() &&
         std::ranges::count_if(tree.links, [&](LinkId l) { return network_.dst(l) == root; }) == 1) {
    const auto last = std::ranges::find_if(tree.links, [&](LinkId l) { return network_.dst(l) == root; });
    root = network_.src(*last);
    tree.links.erase(last);
  }
  tree.ups = static_cast<int>(tree.links.size());
  const double down = span({root}, chunks.post, false, prices, per_hop, tree.links);
  return down < 0 ? -1 : up + down;
}

// For many chunks that start at the same ranks and go to one rank each: one search gives all their paths.
void CheapestTree::search_paths(const RankSet& sources, std::span<const double> prices, double per_hop) {
  start(sources);
  while (!offers_.empty()) {
    const auto [cost, n] = offers_.top();
    offers_.pop();
    if (cost <= cost_[n]) relax(n, cost, false, prices, per_hop);
  }
}

bool CheapestTree::path(Rank target, ChunkTree& tree) const {
  tree.links.clear();
  tree.ups = 0;
  for (Rank at = target; !in_tree_[at]; at = network_.src(via_[at])) {
    if (via_[at] < 0) return false;
    tree.links.push_back(via_[at]);
  }
  std::ranges::reverse(tree.links);
  return true;
}

}  // namespace chorale
