// Matroid union with cyclic scanning (Roskind and Tarjan 1985). A copy of an edge goes into a forest where it
// closes no cycle. If it closes one everywhere, each edge of the cycle in the first forest could make room by
// moving to the next one, where it may close a cycle again: breadth first through these exchanges to an edge
// that finds room, then all move up. If none does, the ends of all edges that were examined are a clump, full
// in every forest: no copy within it is tried again, and if trees are missing in the end, clumps are the
// groups of the partition.
//
// Forests begin as trees grown breadth first from the middle of the network while copies last, one after the
// other: what is completed from nothing was twice as high (mesh:8x8 13 for 8 after an annealing of seconds).
#include "construct/spanning_trees.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

struct Copy {
  int edge = 0;
  int forest = -1;  // in none yet
};

// Edges with their paths to the root, renewed after each change.
class Forest {
 public:
  Forest(int ranks, const std::vector<Edge>& edges)
      : edges_(edges), at_(ranks), root_(ranks), above_(ranks), depth_(ranks) {
    renew({});
  }

  // A search from each rank that no other has reached: root_ distinguishes the trees of the forest.
  void renew(const std::vector<std::pair<int, int>>& copies) {  // copy, edge
    for (std::vector<Half>& halves : at_) halves.clear();
    for (const auto& [copy, edge] : copies) {
      at_[edges_[edge].a].push_back({edges_[edge].b, copy});
      at_[edges_[edge].b].push_back({edges_[edge].a, copy});
    }
    std::ranges::fill(root_, -1);
    std::vector<Rank> queue;
    for (Rank r = 0; r < std::ssize(at_); ++r) {
      if (root_[r] >= 0) continue;
      root_[r] = r;
      above_[r] = {-1, -1};
      depth_[r] = 0;
      queue.assign(1, r);
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const Half& half : at_[queue[i]]) {
          if (root_[half.to] >= 0) continue;
          root_[half.to] = r;
          above_[half.to] = {queue[i], half.copy};
          depth_[half.to] = depth_[queue[i]] + 1;
          queue.push_back(half.to);
        }
    }
  }

  bool joins(const Edge& e) const { return root_[e.a] != root_[e.b]; }
  // Copies between the ends of e.
  template <typename Look>
  void walk(const Edge& e, const Look& look) const {
    for (Rank a = e.a, b = e.b; a != b;) {
      Rank& deeper = depth_[a] >= depth_[b] ? a : b;
      look(above_[deeper].copy);
      deeper = above_[deeper].to;
    }
  }

 private:
  struct Half {
    Rank to = -1;
    int copy = -1;
  };
  const std::vector<Edge>& edges_;
  std::vector<std::vector<Half>> at_;
  std::vector<Rank> root_;
  std::vector<Half> above_;
  std::vector<int> depth_;
};

// State: each copy is in one forest, or in none yet. clumps_ joins ranks between which no copy can be added
// to any forest.
class MatroidPacking {
 public:
  MatroidPacking(int ranks, const std::vector<Edge>& edges, int trees)
      : ranks_(ranks), edges_(edges), clumps_(ranks) {
    // More copies than trees are of no use: a tree has an edge once.
    for (std::size_t e = 0; e < edges.size(); ++e) {
      first_.push_back(static_cast<int>(copies_.size()));
      for (int n = 0; n < std::min(edges[e].copies, trees); ++n)
        copies_.push_back({.edge = static_cast<int>(e)});
    }
    for (int i = 0; i < trees; ++i) forests_.emplace_back(ranks, edges);
    members_.resize(trees);
  }

  TreePacking run() {
    begin();
    for (int c = 0; c < std::ssize(copies_); ++c)
      if (copies_[c].forest < 0) insert(c);
    TreePacking packing;
    const long long wanted = static_cast<long long>(forests_.size()) * (ranks_ - 1);
    const auto placed = std::ranges::count_if(copies_, [](const Copy& copy) { return copy.forest >= 0; });
    if (placed < wanted) {
      // Ends of what every tree can have are one group: its copies are as many as the crossings that are not
      // counted any more.
      for (const Edge& edge : edges_)
        if (edge.copies >= std::ssize(forests_)) clumps_.join(edge.a, edge.b);
      packing.group = clumps_.representatives();
      return packing;
    }
    packing.trees.resize(forests_.size());
    for (const Copy& copy : copies_)
      if (copy.forest >= 0) packing.trees[copy.forest].push_back(copy.edge);
    return packing;
  }

 private:
  // Breadth first from the middle, over edges with copies left, those with most first. Middles are the ranks
  // whose farthest rank is nearest; each is the root of as many forests as the others.
  void begin() {
    std::vector<std::vector<int>> at(ranks_);
    for (int e = 0; e < std::ssize(edges_); ++e) {
      at[edges_[e].a].push_back(e);
      at[edges_[e].b].push_back(e);
    }
    const auto other = [&](int e, Rank n) { return edges_[e].a == n ? edges_[e].b : edges_[e].a; };
    std::vector<Rank> middle;
    int least = ranks_;
    for (Rank r = 0; r < ranks_; ++r) {
      std::vector<int> distance(ranks_, -1);
      distance[r] = 0;
      std::vector<Rank> queue = {r};
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (int e : at[queue[i]])
          if (const Rank n = other(e, queue[i]); distance[n] < 0) {
            distance[n] = distance[queue[i]] + 1;
            queue.push_back(n);
          }
      const int far = distance[queue.back()];
      if (far < least) middle.clear();
      least = std::min(least, far);
      if (far == least) middle.push_back(r);
    }
    std::vector<int> left;
    for (const Edge& edge : edges_)
      left.push_back(std::min<int>(edge.copies, static_cast<int>(forests_.size())));
    for (std::size_t i = 0; i < forests_.size(); ++i) {
      std::vector<bool> reached(ranks_, false);
      std::vector<Rank> queue = {middle[i * middle.size() / forests_.size()]};
      reached[queue.front()] = true;
      for (std::size_t k = 0; k < queue.size(); ++k) {
        std::vector<int> ways = at[queue[k]];
        std::ranges::stable_sort(ways, std::ranges::greater{}, [&](int e) { return left[e]; });
        for (int e : ways) {
          const Rank n = other(e, queue[k]);
          if (left[e] == 0 || reached[n]) continue;
          reached[n] = true;
          --left[e];
          put(first_[e] + left[e], static_cast<int>(i));
          queue.push_back(n);
        }
      }
      renew(static_cast<int>(i));
    }
  }

  void put(int copy, int forest) {
    copies_[copy].forest = forest;
    members_[forest].push_back(copy);
  }
  void renew(int forest) {
    std::vector<std::pair<int, int>> copies;
    for (int c : members_[forest]) copies.push_back({c, copies_[c].edge});
    forests_[forest].renew(copies);
  }

  // The copy itself, or others that move for it; or the clump that has no room for it.
  void insert(int start) {
    const auto together = clumps_.representatives();
    if (together[edges_[copies_[start].edge].a] == together[edges_[copies_[start].edge].b]) return;
    std::vector<int> parent(copies_.size(), kUnseen);
    std::vector<int> queue = {start};
    parent[start] = start;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const int c = queue[k];
      const int forest = (copies_[c].forest + 1) % static_cast<int>(forests_.size());
      const Edge& edge = edges_[copies_[c].edge];
      if (forests_[forest].joins(edge)) return move_up(c, forest, parent, start);
      forests_[forest].walk(edge, [&](int on_circle) {
        if (parent[on_circle] != kUnseen) return;
        parent[on_circle] = c;
        queue.push_back(on_circle);
      });
    }
    for (int c : queue) clumps_.join(edges_[copies_[c].edge].a, edges_[copies_[c].edge].b);
  }

  // Back along the search: each copy goes into the forest that the copy found from it has left, and the
  // start, which was in none, is placed last.
  void move_up(int c, int forest, const std::vector<int>& parent, int start) {
    for (int to = forest;;) {
      const int from = copies_[c].forest;
      if (from >= 0) std::erase(members_[from], c);
      put(c, to);
      if (c == start) {
        renew(to);
        return;
      }
      renew(to);
      c = parent[c];
      to = from;
    }
  }

  static constexpr int kUnseen = -1;
  const int ranks_;
  const std::vector<Edge>& edges_;
  DisjointSets clumps_;
  std::vector<int> first_ = {};  // copy of each edge
  std::vector<Copy> copies_ = {};
  std::vector<Forest> forests_ = {};
  std::vector<std::vector<int>> members_ = {};  // copies, by forest
};

}  // namespace

TreePacking pack_spanning_trees(int ranks, const std::vector<Edge>& edges, int trees) {
  assert(ranks > 0 && trees > 0);
  return MatroidPacking(ranks, edges, trees).run();
}

}  // namespace chorale
