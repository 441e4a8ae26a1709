// A rank that joins the tree is offered again, at the cost of going on from it. A rank that is no target
// joins when a path to a target goes over it.
#include "construct/cheapest_tree.h"

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

void CheapestTree::start(const RankSet& sources, bool) {
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

// From all sources, as one vertex, to all other ranks.
double CheapestTree::span_exactly(const RankSet& sources, bool backwards, std::span<const double> prices,
                                  std::vector<LinkId>& links) {
  start(sources, backwards);
  const Rank root = sources.front();
  arcs_.clear();
  link_of_.clear();
  for (LinkId l = 0; l < network_.links(); ++l) {
    const Rank from = backwards ? network_.dst(l) : network_.src(l);
    const Rank to = backwards ? network_.src(l) : network_.dst(l);
    if (in_tree_[to]) continue;
    arcs_.push_back({.from = in_tree_[from] ? root : from, .to = to, .weight = prices[l]});
    link_of_.push_back(l);
  }
  // Further sources are reached for nothing.
  for (const Rank n : sources)
    if (n != root) {
      arcs_.push_back({.from = root, .to = n, .weight = 0});
      link_of_.push_back(-1);
    }
  const std::vector<int> chosen = cheapest_arborescence(network_.ranks(), root, arcs_, relaxations_);
  if (chosen.empty()) return network_.ranks() > 1 ? -1 : 0;
  std::vector<std::vector<LinkId>> below(network_.ranks());
  double sum = 0;
  for (const int a : chosen) {
    if (link_of_[a] < 0) continue;
    below[arcs_[a].from].push_back(link_of_[a]);
    sum += prices[link_of_[a]];
  }
  std::vector<Rank> order = {root};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const LinkId l : below[order[i]]) {
      links.push_back(l);
      order.push_back(backwards ? network_.src(l) : network_.dst(l));
    }
  return sum;
}

double CheapestTree::span(const RankSet& sources, const RankSet& targets, bool backwards,
                          std::span<const double> prices, double per_hop, std::vector<LinkId>& links) {
  if (per_hop == 0 && reaches_all(network_.ranks(), sources, targets))
    return span_exactly(sources, backwards, prices, links);
  start(sources, backwards);
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

void CheapestTree::search_paths(const RankSet& sources, std::span<const double> prices, double per_hop) {
  start(sources, false);
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
