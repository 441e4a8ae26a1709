// Against all choices of an arc into each vertex, one after the other: the cheapest that is a tree.
#include "graph/arborescence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/kit/random.h"

namespace chorale {
namespace {

using test::below;

bool reaches_all(int root, const std::vector<int>& into, const std::vector<WeightedArc>& arcs) {
  const int vertices = static_cast<int>(into.size());
  for (int v = 0; v < vertices; ++v) {
    int at = v;
    for (int hops = 0; at != root && hops < vertices; ++hops) {
      if (into[at] < 0 || arcs[into[at]].to != at) return false;
      at = arcs[into[at]].from;
    }
    if (at != root) return false;
  }
  return true;
}

double weight_of(const std::vector<int>& into, const std::vector<WeightedArc>& arcs) {
  double sum = 0;
  for (const int a : into)
    if (a >= 0) sum += arcs[a].weight;
  return sum;
}

// Of the vertices from v on, with what was chosen for those before; -1 if there is none.
double least(int root, int v, std::vector<int>& into, const std::vector<WeightedArc>& arcs) {
  if (v == std::ssize(into)) return reaches_all(root, into, arcs) ? weight_of(into, arcs) : -1;
  if (v == root) return least(root, v + 1, into, arcs);
  double best = -1;
  for (int a = 0; a < std::ssize(arcs); ++a) {
    if (arcs[a].to != v) continue;
    into[v] = a;
    const double cost = least(root, v + 1, into, arcs);
    if (best < 0 || (cost >= 0 && cost < best)) best = cost;
  }
  into[v] = -1;
  return best;
}

TEST(Arborescences, EachRootHasTheCheapestOfAllTrees) {
  std::mt19937 random(1);
  int trees = 0, none = 0;
  Arborescences arborescences;  // of one graph after the other
  for (int graph = 0; graph < 3'000; ++graph) {
    SCOPED_TRACE(graph);
    const int vertices = 1 + below(random, 6);
    std::vector<WeightedArc> arcs;
    for (int a = below(random, 2 * vertices + 3); a > 0; --a)
      arcs.push_back({.from = below(random, vertices),
                      .to = below(random, vertices),
                      .weight = static_cast<double>(below(random, 6))});
    arborescences.contract(vertices, arcs);
    for (int root = 0; root < vertices; ++root) {
      std::vector<int> into(vertices, -1);
      const double expected = least(root, 0, into, arcs);
      ASSERT_EQ(arborescences.cost(root), expected) << "root " << root;
      ++(expected < 0 ? none : trees);
      if (expected < 0) continue;
      arborescences.arcs_into(root, into);
      EXPECT_TRUE(reaches_all(root, into, arcs)) << "root " << root;
      EXPECT_EQ(weight_of(into, arcs), expected) << "root " << root;
    }
  }
  EXPECT_GT(trees, 1'000);
  EXPECT_GT(none, 1'000);
}

}  // namespace
}  // namespace chorale
