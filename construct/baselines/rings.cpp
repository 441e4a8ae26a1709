// A ring through all ranks is a Hamiltonian cycle, searched for among links of the largest width that has
// one, with a fixed work budget. In a cluster it is composed of a path through each node and a link between
// each two, so that NICs are chosen and not what is left over; in one node, or where no such ring is found,
// it is searched in one piece, next to the nearest rank first.
//
// A ring that was found in one piece is also taken in the other direction, before the rest is searched:
// torus:8x8 has two rings so instead of one, hypercube:6 four instead of two. Between nodes that lost: with
// an odd number of NICs on rails the last ring would have to enter and leave a node by one GPU.
#include "construct/baselines/rings.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "construct/baselines/ring_packing.h"
#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

constexpr double kAnyLatency = std::numeric_limits<double>::infinity();

// What rings have left of a machine: of its links, and of its shared limits.
class RemainingLinks {
 public:
  explicit RemainingLinks(const Topology& topology) : topology_(topology), limits_of_(topology.links.size()) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      left_.push_back(topology.links[l].bandwidth);
      between_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
    }
    for (int i = 0; i < std::ssize(topology.limits); ++i) {
      limit_left_.push_back(topology.limits[i].bandwidth);
      for (const LinkId l : topology.limits[i].links) limits_of_[l].push_back(i);
    }
  }

  const Topology& topology() const { return topology_; }
  const std::map<std::pair<Rank, Rank>, std::vector<LinkId>>& between() const { return between_; }

  // Chunks per round that still fit. A limit lets no more through a link than it has left; but a ring may
  // go through it several times, and one that does so too often for one round may still be found.
  int room(LinkId l) const {
    int room = left_[l];
    for (const int i : limits_of_[l]) room = std::min(room, limit_left_[i]);
    return room;
  }
  std::set<int, std::greater<>> widths() const {
    std::set<int, std::greater<>> widths;
    for (LinkId l = 0; l < std::ssize(left_); ++l)
      if (room(l) > 0) widths.insert(room(l));
    return widths;
  }

  // The nearest between the two with so much room, and of these the one with most; -1 if none has less
  // latency than that.
  LinkId best_link(Rank a, Rank b, int width, double below_us = kAnyLatency) const {
    const auto at = between_.find({a, b});
    LinkId best = -1;
    if (at == between_.end()) return best;
    for (const LinkId l : at->second) {
      if (room(l) < width || !(topology_.links[l].alpha_us < below_us)) continue;
      const double nearer = best < 0 ? -1 : topology_.links[l].alpha_us - topology_.links[best].alpha_us;
      if (nearer < 0 || (nearer == 0 && room(l) > room(best))) best = l;
    }
    return best;
  }
  Ring ring(const Order& order, int width) const {
    Ring ring{.order = order};
    for (std::size_t i = 0; i < order.size(); ++i) {
      ring.links.push_back(best_link(order[i], order[(i + 1) % order.size()], width));
      if (ring.links.back() < 0) return {};
    }
    return ring;
  }

  // Takes the ring as often as there is room for it in one round, and at most so often; returns how often.
  int take(const Ring& ring, int most) {
    if (ring.links.empty()) return 0;
    std::map<int, int> uses;  // of limits
    int copies = most;
    for (const LinkId l : ring.links) {
      copies = std::min(copies, left_[l]);
      for (const int i : limits_of_[l]) ++uses[i];
    }
    for (const auto& [i, times] : uses) copies = std::min(copies, limit_left_[i] / times);
    for (const LinkId l : ring.links) left_[l] -= copies;
    for (const auto& [i, times] : uses) limit_left_[i] -= copies * times;
    return copies;
  }

 private:
  const Topology& topology_;
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> between_ = {};
  std::vector<std::vector<int>> limits_of_;  // by link
  std::vector<int> left_ = {}, limit_left_ = {};
};

// Depth first, next to the nearest rank (all of a node before the next node), of these to the one with the
// fewest paths on (Warnsdorff's rule), of these to the first. In further tries over the link with most
// room, and then in another order.
class HamiltonianSearch {
 public:
  // Over links with so much room, among these ranks.
  HamiltonianSearch(const RemainingLinks& machine, const std::vector<Rank>& among, int width,
                    double below_us = kAnyLatency, long effort = 100'000, unsigned trial = 0)
      : ranks_(static_cast<int>(among.size())),
        next_(machine.topology().ranks),
        used_(machine.topology().ranks, true),
        effort_(effort),
        trial_(trial) {
    for (const Rank n : among) used_[n] = false;
    for (const Rank a : among)
      for (auto to = machine.between().lower_bound({a, 0});
           to != machine.between().end() && to->first.first == a; ++to) {
        const Rank b = to->first.second;
        if (used_[b]) continue;
        if (const LinkId l = machine.best_link(a, b, width, below_us); l >= 0)
          next_[a].push_back({machine.topology().links[l].alpha_us, trial == 0 ? 0 : -machine.room(l), b});
      }
    first_ = among.front();
  }

  // A ring; from `start` to `end` a path through all. Empty if none is found.
  Order find() { return find(first_, -1); }
  Order find(Rank start, Rank end) {
    order_ = {start};
    end_ = end;
    used_[start] = true;
    return extend() ? order_ : Order{};
  }

 private:
  // A beginning, made longer by one; taken back where it leads nowhere. Without effort none is made longer.
  bool extend() {
    const Rank last = order_.back();
    if (static_cast<int>(order_.size()) == ranks_)
      return end_ >= 0 ? last == end_
                       : std::ranges::any_of(next_[last], [&](const Next& n) { return n.rank == order_[0]; });
    if (last == end_ || --effort_ < 0) return false;
    using Candidate = std::tuple<double, int, long, unsigned, Rank>;
    std::vector<Candidate> candidates;
    for (const auto& [alpha_us, room, n] : next_[last])
      if (!used_[n])
        candidates.push_back({alpha_us, room,
                              std::ranges::count_if(next_[n], [&](const Next& m) { return !used_[m.rank]; }),
                              trial_ * (static_cast<unsigned>(n) + 1) * 2'654'435'761u, n});
    std::ranges::sort(candidates);
    for (const auto& [alpha, room, ways, shuffled, n] : candidates) {
      order_.push_back(n);
      used_[n] = true;
      if (extend()) return true;
      used_[n] = false;
      order_.pop_back();
    }
    return false;
  }

  struct Next {
    double alpha_us = 0;
    int room = 0;  // less than nothing, so that most is first
    Rank rank = 0;
  };
  const int ranks_;
  std::vector<std::vector<Next>> next_;
  std::vector<bool> used_;
  Rank first_ = 0, end_ = -1;
  Order order_ = {};
  long effort_;  // ranks that may still be gone on from; the same on every machine
  const unsigned trial_;
};

// A ring through nodes in their order. From the rank by which it enters the first node, node by node: a link
// to the next node is chosen, then a path through all ranks from the entry to that link. Ends of links are
// tried round-robin (the position after the entry's first), so that on rails no two rings leave each other
// nothing but a NIC to enter and leave by.
class NodeByNode {
 public:
  NodeByNode(const RemainingLinks& machine, const Nodes& nodes, int width)
      : machine_(machine),
        nodes_(nodes.ranks),
        network_us_(nodes.network_us),
        width_(width),
        place_(machine.topology().ranks),
        out_(nodes_.size()) {
    for (std::size_t j = 0; j < nodes_.size(); ++j)
      for (std::size_t i = 0; i < nodes_[j].size(); ++i) place_[nodes_[j][i]] = {j, i};
    for (const auto& [ends, links] : machine.between()) {
      const std::size_t from = place_[ends.first].first, to = place_[ends.second].first;
      if (to != (from + 1) % nodes_.size()) continue;
      if (const LinkId l = machine.best_link(ends.first, ends.second, width); l >= 0) out_[from].push_back(l);
    }
  }

  Ring find() {
    if (std::ranges::any_of(out_, [](const auto& links) { return links.empty(); })) return {};
    for (const Rank entry : nodes_.front()) {
      const auto enters = [&](LinkId l) { return machine_.topology().links[l].dst == entry; };
      if (std::ranges::none_of(out_.back(), enters)) continue;
      effort_ = kEffort;
      entries_ = {entry};
      exits_.clear();
      inside_.clear();
      if (extend()) return ring();
    }
    return {};
  }

 private:
  // Leaves the last node that was entered.
  bool extend() {
    const std::size_t j = exits_.size();
    if (j == nodes_.size()) return true;
    const Rank entry = entries_[j];
    const int n = static_cast<int>(nodes_[j].size());
    const bool last = j + 1 == nodes_.size();
    using Candidate = std::tuple<double, int, int, int, LinkId>;
    std::vector<Candidate> candidates;
    for (const LinkId l : out_[j]) {
      const Link& link = machine_.topology().links[l];
      if (last ? link.dst != entries_[0] : false) continue;
      if (n > 1 && link.src == entry) continue;
      const int from = place_of(link.src), to = place_of(link.dst), at = place_of(entry);
      candidates.push_back({link.alpha_us, -machine_.room(l), (from - at - 1 + n) % n,
                            (to - at + 2 * machine_.topology().ranks) % std::max(1, size_of(link.dst)), l});
    }
    std::ranges::sort(candidates);
    for (const auto& [alpha, room, turn, far, l] : candidates) {
      if (--effort_ < 0) return false;
      const Order path = path_between(j, entry, machine_.topology().links[l].src);
      if (path.empty()) continue;
      exits_.push_back(l);
      inside_.push_back(path);
      entries_.push_back(machine_.topology().links[l].dst);
      if (extend()) return true;
      exits_.pop_back();
      inside_.pop_back();
      entries_.pop_back();
    }
    return false;
  }

  int place_of(Rank n) const { return static_cast<int>(place_[n].second); }
  int size_of(Rank n) const { return static_cast<int>(nodes_[place_[n].first].size()); }

  // A path between two ranks of a node is asked for again whenever a node after it leads nowhere, so it is
  // kept.
  const Order& path_between(std::size_t j, Rank entry, Rank exit) {
    const auto [at, fresh] = paths_.try_emplace({entry, exit});
    if (fresh)
      at->second =
          HamiltonianSearch(machine_, nodes_[j], width_, network_us_, kEffortOfAPath).find(entry, exit);
    return at->second;
  }

  Ring ring() const {
    Ring ring;
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
      for (std::size_t i = 0; i < inside_[j].size(); ++i) {
        ring.order.push_back(inside_[j][i]);
        ring.links.push_back(i + 1 < inside_[j].size()
                                 ? machine_.best_link(inside_[j][i], inside_[j][i + 1], width_, network_us_)
                                 : exits_[j]);
      }
    }
    return ring;
  }

  static constexpr long kEffort = 1'000, kEffortOfAPath = 5'000;
  const RemainingLinks& machine_;
  const std::vector<std::vector<Rank>>& nodes_;
  const double network_us_;
  const int width_;
  std::vector<std::pair<std::size_t, std::size_t>> place_;  // [rank] -> node, and position in it
  std::vector<std::vector<LinkId>> out_;                    // by node: to the next one
  std::vector<Rank> entries_ = {};
  std::vector<LinkId> exits_ = {};
  std::vector<Order> inside_ = {};
  std::map<std::pair<Rank, Rank>, Order> paths_ = {};
  long effort_ = 0;  // links that may still be tried
};

// The widths that links have left, the widest first: the first with a ring.
Ring widest(const RemainingLinks& machine, const Nodes& nodes, unsigned trial = 0) {
  for (const int width : machine.widths()) {
    Ring ring = nodes.ranks.size() > 1
                    ? NodeByNode(machine, nodes, width).find()
                    : machine.ring(HamiltonianSearch(machine, nodes.ranks.front(), width, kAnyLatency,
                                                     trial == 0 ? 100'000 : 10'000, trial)
                                       .find(),
                                   width);
    if (!ring.links.empty()) return ring;
  }
  return {};
}

Nodes one_node(const Topology& topology) {
  std::vector<Rank> all(topology.ranks);
  std::iota(all.begin(), all.end(), 0);
  return {.ranks = {all}};
}

// Greedy: a widest ring of what is left, as often as it fits in a round, until there is none. Trials differ
// in the order of the search; odd ones take each ring once.
std::vector<Ring> rings_side_by_side(const Topology& topology, const Nodes& nodes, unsigned trial) {
  // Four V100 with two NVLinks each: one ring twice leaves pairs of ranks, and 4 rings in all; once each
  // there are NCCL's 6.
  const int most = trial % 2 == 1 ? 1 : std::numeric_limits<int>::max();
  std::vector<Ring> rings;
  RemainingLinks machine(topology);
  for (Ring ring = widest(machine, nodes, trial); !ring.order.empty(); ring = widest(machine, nodes, trial)) {
    const int copies = machine.take(ring, most);
    // A ring for which a round has no room: alone it may still be of use, in more rounds.
    if (copies == 0) return rings.empty() ? std::vector<Ring>{ring} : rings;
    rings.insert(rings.end(), copies, ring);
    if (nodes.ranks.size() > 1) continue;
    // Machines are mostly symmetric; searching what is left of one that was used in one direction is harder.
    std::ranges::reverse(ring.order);
    ring = machine.ring(ring.order, 1);
    rings.insert(rings.end(), machine.take(ring, most), ring);
  }
  return rings;
}

}  // namespace

// The links are those of the ring as it is, between the same two ranks: they fit when the plan over it is
// reversed as well.
Ring reversed_ring(const Ring& ring) {
  const std::size_t n = ring.order.size();
  Ring result{.order = ring.order};
  std::ranges::reverse(result.order);
  for (std::size_t i = 0; i < ring.links.size(); ++i) result.links.push_back(ring.links[(2 * n - 2 - i) % n]);
  return result;
}

int ring_width(const Topology& topology, const Order& order) {
  if (order.size() == 1) return 1;
  std::map<std::pair<Rank, Rank>, int> between;  // over all parallel links
  for (const Link& link : topology.links) between[{link.src, link.dst}] += link.bandwidth;
  int width = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = between.find({order[i], order[(i + 1) % order.size()]});
    width = std::min(width, at == between.end() ? 0 : at->second);
  }
  return width;
}

Order widest_ring(const Topology& topology) {
  if (topology.ranks == 1) return {0};
  return widest(RemainingLinks(topology), one_node(topology)).order;
}

// Latencies from the highest down, to the first gap by the factor kApart: links below it are inside of nodes,
// and what they connect is a node. Where no gap is, all links are of one kind, and all ranks one node.
Nodes nodes_of(const Topology& topology) {
  constexpr double kApart = 1.5;
  std::set<double, std::greater<>> latencies;
  for (const Link& link : topology.links) latencies.insert(link.alpha_us);
  Nodes nodes;
  for (auto far = latencies.begin(); far != latencies.end(); ++far) {
    const auto near = std::next(far);
    if (near == latencies.end() || *near * kApart <= *far) {
      if (near != latencies.end()) nodes.network_us = *far;
      break;
    }
  }
  DisjointSets joined(topology.ranks);
  for (const Link& link : topology.links)
    if (link.alpha_us < nodes.network_us) joined.join(link.src, link.dst);
  std::map<Rank, std::vector<Rank>> by_first;
  for (Rank n = 0; n < topology.ranks; ++n) by_first[joined.find(n)].push_back(n);
  for (auto& [first, ranks] : by_first) nodes.ranks.push_back(std::move(ranks));
  return nodes;
}

std::vector<Ring> ring_decomposition(const Topology& topology) {
  // Rings in one node obstruct each other: of 16 dies (RCCL's dump of MI250) the first order finds 2, others
  // 6.
  constexpr unsigned kTrials = 8;
  constexpr int kMostRanksTried = 32;
  // Whole rings of one round are kept where fractions add less.
  constexpr double kGain = 1.005;
  if (topology.ranks == 1) return {{.order = {0}}};
  for (const Nodes& nodes : {nodes_of(topology), one_node(topology)}) {
    std::vector<Ring> best;
    const bool tries = nodes.ranks.size() == 1 && topology.ranks <= kMostRanksTried;
    for (unsigned trial = 0; trial < (tries ? kTrials : 1); ++trial)
      if (std::vector<Ring> rings = rings_side_by_side(topology, nodes, trial); rings.size() > best.size())
        best = std::move(rings);
    if (tries && !best.empty())
      if (PackedRings packed = pack_rings(topology);
          packed.rate() * rounds_of(topology, best) > kGain * static_cast<double>(best.size()))
        return std::move(packed.rings);
    if (!best.empty()) return best;
  }
  return {};
}

// Trees are built over positions in an order, and ranks put at the positions last; so one construction serves
// every root and every order, and the second of two trees is the first shifted by one position. A plan only
// states when chunk c passes an edge: the step it starts in plus the edge's depth, which is all there is to
// pipelining.
//
// The two trees come from one fact: in split(), inner ranks are at odd positions and leaves at even ones.
// Shifted by one position, inner ranks are at even positions, and no rank is inner in both.

namespace {

Tree with_depths(std::vector<Rank> parent) {
  Tree tree{.parent = std::move(parent)};
  for (Rank n : tree.parent) {
    int depth = 0;
    for (Rank above = n; above >= 0; above = tree.parent[above]) ++depth;
    tree.depth.push_back(depth);
  }
  return tree;
}

// Makes a tree of the positions [from, to), `from` even, below `above`: its root is an odd position next to
// the middle, so that each side starts at an even position again, and the left side is never empty: odd
// positions are inner. Of four positions: 3 above 1, 1 above 0 and 2.
void split(int from, int to, int above, std::vector<int>& parent) {
  if (from >= to) return;
  const int middle = to - from == 1 ? from : from + (to - from) / 2 / 2 * 2 + 1;
  const int root = std::min(middle, to - 1);
  parent[root] = above;
  if (to - from == 1) return;
  split(from, root, root, parent);
  split(root + 1, to, root, parent);
}

Tree at_places(const std::vector<int>& parent, const std::vector<Rank>& order, int moved) {
  const int n = static_cast<int>(order.size());
  std::vector<Rank> of_rank(n, -1);
  for (int i = 0; i < n; ++i)
    if (parent[i] >= 0) of_rank[order[(i + moved) % n]] = order[(parent[i] + moved) % n];
  return with_depths(std::move(of_rank));
}

}  // namespace

int Tree::height() const {
  return *std::ranges::max_element(depth);
}
bool Tree::is_inner(Rank n) const {
  return std::ranges::count(parent, n) > 0;
}

Tree heap_tree(const std::vector<Rank>& order) {
  std::vector<Rank> parent(order.size(), -1);
  for (std::size_t i = 1; i < order.size(); ++i) parent[order[i]] = order[(i - 1) / 2];
  return with_depths(std::move(parent));
}

// In tree j a position without bit j is below the one that has it, and another is below the one without the
// next set bit that is lower, cyclically: a different dimension for each tree.
std::vector<Tree> disjoint_binomial_trees(const std::vector<Rank>& order) {
  std::vector<Tree> trees;
  const int ranks = static_cast<int>(order.size());
  const int dimensions = std::max(1, static_cast<int>(std::bit_width(order.size())) - 1);
  for (int j = 0; j < dimensions; ++j) {
    std::vector<Rank> parent(ranks, -1);
    for (int i = 1; i < ranks; ++i) {
      int over = j;
      if (i >> j & 1) do
          over = (over + dimensions - 1) % dimensions;
        while ((i >> over & 1) == 0);
      parent[order[i]] = order[i ^ 1 << over];
    }
    trees.push_back(with_depths(std::move(parent)));
  }
  return trees;
}

std::pair<Tree, Tree> two_trees(const std::vector<Rank>& order) {
  std::vector<int> parent(order.size(), -1);
  split(0, static_cast<int>(order.size()), -1, parent);
  return {at_places(parent, order, 0), at_places(parent, order, 1)};
}

namespace {

// Ranks of a node below its first: each below the one before, or all below the first.
Tree tree_of_nodes(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& nodes,
                   bool is_chain) {
  std::size_t ranks = 0;
  for (const std::vector<Rank>& node : nodes) ranks += node.size();
  std::vector<Rank> parent(ranks, -1);
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    if (node_parent[j] >= 0) parent[nodes[j].front()] = nodes[node_parent[j]].front();
    for (std::size_t i = 1; i < nodes[j].size(); ++i) parent[nodes[j][i]] = nodes[j][is_chain ? i - 1 : 0];
  }
  return with_depths(std::move(parent));
}

}  // namespace

Tree chained_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& chains) {
  return tree_of_nodes(node_parent, chains, true);
}
Tree star_tree(const std::vector<int>& node_parent, const std::vector<std::vector<Rank>>& nodes) {
  return tree_of_nodes(node_parent, nodes, false);
}

}  // namespace chorale
