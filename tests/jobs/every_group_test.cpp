// The answer of `design` against all connected Cayley graphs of all groups of small orders: groups by
// generating permutations, as textbooks have them, and all sets of elements that are closed under inverses.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/design.h"
#include "tests/topology/alltoall_rounds.h"
#include "topology/wiring/family.h"

namespace chorale {
namespace {

using Permutation = std::vector<int>;

// "(0 1 2)(3 4)"
Permutation cycles(const std::string& text) {
  Permutation images(12);
  std::iota(images.begin(), images.end(), 0);
  std::vector<int> cycle;
  int number = -1;
  for (const char c : text) {
    if (c >= '0' && c <= '9') number = std::max(number, 0) * 10 + (c - '0');
    if ((c == ' ' || c == ')') && number >= 0) cycle.push_back(std::exchange(number, -1));
    if (c != ')') continue;
    for (std::size_t i = 0; i < cycle.size(); ++i) images[cycle[i]] = cycle[(i + 1) % cycle.size()];
    cycle.clear();
  }
  return images;
}

const std::map<int, std::vector<std::vector<std::string>>> kGroups = {
    {3, {{"(0 1 2)"}}},
    {4, {{"(0 1 2 3)"}, {"(0 1)", "(2 3)"}}},
    {5, {{"(0 1 2 3 4)"}}},
    {6, {{"(0 1 2)(3 4)"}, {"(0 1 2)", "(0 1)"}}},
    {7, {{"(0 1 2 3 4 5 6)"}}},
    {8,
     {{"(0 1 2 3 4 5 6 7)"},
      {"(0 1 2 3)", "(4 5)"},
      {"(0 1)", "(2 3)", "(4 5)"},
      {"(0 1 2 3)", "(0 2)"},
      {"(0 1 2 3)(4 5 6 7)", "(0 4 2 6)(1 7 3 5)"}}},
    {9, {{"(0 1 2 3 4 5 6 7 8)"}, {"(0 1 2)", "(3 4 5)"}}},
    {10, {{"(0 1 2 3 4)(5 6)"}, {"(0 1 2 3 4)", "(1 4)(2 3)"}}},
    {11, {{"(0 1 2 3 4 5 6 7 8 9 10)"}}},
    {12,
     {{"(0 1 2)(3 4 5 6)"},
      {"(0 1 2)", "(3 4)", "(5 6)"},
      {"(0 1 2)", "(0 1)(2 3)"},
      {"(0 1 2)", "(0 1)", "(3 4)"},
      {"(0 1 2)", "(0 1)(3 4 5 6)"}}}};

// A table of products of all that permutations generate, the identity first.
std::vector<std::vector<int>> table(const std::vector<std::string>& generators) {
  const auto composed = [](const Permutation& first, const Permutation& then) {
    Permutation both;
    for (const int point : first) both.push_back(then[point]);
    return both;
  };
  std::vector<Permutation> all = {cycles("")};
  std::map<Permutation, int> numbers = {{all[0], 0}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& generator : generators)
      if (const Permutation next = composed(all[i], cycles(generator));
          numbers.emplace(next, static_cast<int>(all.size())).second)
        all.push_back(next);
  std::vector<std::vector<int>> products(all.size());
  for (std::size_t a = 0; a < all.size(); ++a)
    for (const Permutation& b : all) products[a].push_back(numbers.at(composed(all[a], b)));
  return products;
}

bool less_links(const std::vector<Cable>& a, const std::vector<Cable>& b) {
  return std::ranges::lexicographical_compare(
      a, b, {}, [](const Cable& c) { return std::pair(c.src, c.dst); },
      [](const Cable& c) { return std::pair(c.src, c.dst); });
}
using Graphs = std::map<std::vector<Cable>, Topology, decltype(&less_links)>;  // by canonical links

// By number of links at each rank.
std::map<int, Graphs> all_graphs(int order) {
  std::map<int, Graphs> all;
  for (const std::vector<std::string>& generators : kGroups.at(order)) {
    const std::vector<std::vector<int>> products = table(generators);
    EXPECT_EQ(std::ssize(products), order);
    for (int chosen = 1; chosen < 1 << (order - 1); ++chosen) {
      Topology graph{.ranks = order};
      bool closed = true;
      for (int s = 1; s < order; ++s) {
        if ((chosen >> (s - 1) & 1) == 0) continue;
        const int inverse = static_cast<int>(std::ranges::find(products[s], 0) - products[s].begin());
        closed = closed && (chosen >> (inverse - 1) & 1) == 1;
        for (int a = 0; a < order; ++a) graph.links.push_back({.src = a, .dst = products[a][s]});
      }
      if (!closed || std::ranges::count(hops(graph, {0}), -1) > 0) continue;
      const int degree = static_cast<int>(graph.links.size()) / order;
      all.try_emplace(degree, &less_links).first->second.emplace(canonical_links(graph), graph);
    }
  }
  return all;
}

TEST(EveryGroup, TheFamilyHasEachOfItsGraphsAndNoOther) {
  for (const auto& [order, groups] : kGroups) {
    const std::map<int, Graphs> all = all_graphs(order);
    for (int degree = 2; degree < order; ++degree) {
      Graphs found(&less_links);
      const WiringFamily family = wirings(order, degree);
      EXPECT_TRUE(family.complete && family.all_groups);
      EXPECT_EQ(family.groups_compared, std::ssize(groups)) << order;
      for (const CayleyGraph& graph : family.graphs) {
        const Topology machine = machine_of(graph, 1, 1);
        found.emplace(canonical_links(machine), machine);
      }
      const auto slow = all.find(degree);
      const auto links = [](const Graphs& graphs) {
        std::vector<std::vector<Cable>> keys;
        for (const auto& [key, graph] : graphs) keys.push_back(key);
        return keys;
      };
      EXPECT_EQ(links(found), slow == all.end() ? links(Graphs(&less_links)) : links(slow->second))
          << order << ", " << degree;
    }
  }
}

// The least optimum of an Alltoall's flows over all of them is the bound of the design, and what its
// schedules are said to take is no less.
TEST(EveryGroup, NoGraphIsBetterThanTheDesign) {
  for (const auto& [order, groups] : kGroups)
    for (const auto& [degree, graphs] : all_graphs(order)) {
      if (degree < 2) continue;
      std::vector<std::pair<long long, const Topology*>> sorted;
      for (const auto& [key, graph] : graphs) {
        const std::vector<int> far = hops(graph, {0});
        sorted.emplace_back(std::accumulate(far.begin(), far.end(), 0LL), &graph);
      }
      std::ranges::sort(sorted);
      double least = 1e9;
      for (const auto& [distances, graph] : sorted)
        if (static_cast<double>(distances) / degree < least - 1e-9)
          least = std::min(least, test::alltoall_rounds(*graph));
      const Design found = design({.ranks = order,
                                   .degree = degree,
                                   .job = {{.collective = "alltoall"}},
                                   .search_time = std::chrono::milliseconds(1)});
      const double scale = 1e-3 / 25 * (1 << 20) / order;  // microseconds per MiB and round per chunk
      EXPECT_NEAR(found.bound_us, least * scale, 1e-9 * found.bound_us) << order << ", " << degree;
      EXPECT_TRUE(found.all_groups && found.all_compared);
      if (found.best.front().found_us > 0) {
        EXPECT_GE(found.best.front().found_us, found.bound_us * (1 - 1e-9));
      }
      EXPECT_EQ(found.proven, found.best.front().found_us > 0 &&
                                  found.best.front().found_us <= found.bound_us * (1 + 1e-9));
    }
}

// Numbers of connected vertex-transitive graphs (OEIS A006800) where each is a Cayley graph, and of order 16,
// where all but 8 are (McKay and Praeger 1994).
TEST(EveryGroup, GraphsAreAsManyAsAreKnown) {
  const std::map<int, int> known = {{3, 1}, {4, 2},  {5, 2},   {6, 5},   {7, 3},   {8, 10},
                                    {9, 7}, {11, 7}, {12, 64}, {13, 13}, {14, 51}, {16, 264}};
  for (const auto& [order, count] : known) {
    int found = 0;
    for (int degree = 1; degree < order; ++degree) {
      Graphs graphs(&less_links);
      for (const CayleyGraph& graph : wirings(order, degree).graphs)
        graphs.emplace(canonical_links(machine_of(graph, 1, 1)), Topology());
      found += static_cast<int>(graphs.size());
    }
    EXPECT_EQ(found, count) << order;
  }
}

// Found from outside, by other means, when the family had abelian groups and semidirect products of cyclic
// ones only: an Alltoall of 20 rounds per chunk on A4 x Z2 (it was 62/3), 12.25 on SL(2,3) (12.5), 62/7 on
// A4 x Z2 (100/11), 42.5 on A5 (42.57), and 242/5 on Z2^3 x| Z8 (49).
TEST(EveryGroupLong, GroupsBeyondProductsOfTwoAreThere) {
  struct Case {
    int ranks, degree;
    double rounds;
  };
  for (const auto& [ranks, degree, rounds] :
       {Case{24, 3, 20}, {24, 4, 12.25}, {24, 5, 62.0 / 7}, {60, 4, 42.5}, {64, 4, 48.4}}) {
    const WiringFamily family = wirings(ranks, degree);
    EXPECT_TRUE(family.complete && family.all_groups) << ranks << ", " << degree;
    double least = 1e9;
    for (const CayleyGraph& graph : family.graphs)
      if (static_cast<double>(graph.distances) / degree < least) {
        const Rate bound = alltoall_bound(graph);
        least = std::min(least, static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks));
      }
    EXPECT_LE(least, rounds + 1e-9) << ranks << ", " << degree;
  }
}

}  // namespace
}  // namespace chorale
