// A Cayley graph looks the same from every rank, so distances and cheapest paths are found from rank 0
// alone.
//
// The Alltoall bound is the dual of a flow: with a price for each link, the blocks of all pairs pay at least
// their cheapest paths, and a round is paid at most the prices of all links together. The mean of optimal
// prices over all translations is optimal too, so the links of a generator may have one price, which leaves
// one variable per generator: a linear program whose rows, one per set of paths, are generated as they are
// violated (Kelley's cutting planes). Its prices are floating point; the bound is proven by integers near
// them.
#include "topology/wiring/cayley.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "bounds/clp.h"
#include "graph/paths.h"

namespace chorale {
namespace {

constexpr int kMostCuts = 60;         // rounds of prices
constexpr int kMostDenominator = 60;  // of prices, as whole numbers

// What cheapest paths from rank 0 to all others pay together, and how many hops of them are of each
// generator.
template <typename Price>
struct PaidHops {
  Price paid = 0;
  std::vector<int> hops = {};
};

// Integral prices give exact sums, which proofs need; floating-point ones steer the linear program.
template <typename Price>
PaidHops<Price> paid_hops(const CayleyGraph& graph, const std::vector<Price>& prices) {
  const Group& group = *graph.group;
  const auto hops = [&](int at, Price price, const auto& reach) {
    for (std::size_t g = 0; g < prices.size(); ++g)
      for (const int hop : {graph.generators[g], int{group.inverses[graph.generators[g]]}})
        reach(group.product(at, hop), static_cast<int>(g), price + prices[g]);
  };
  const CheapestPaths<Price> paths =
      cheapest_paths(group.order, std::array{0}, Price(0), std::numeric_limits<Price>::max(), hops);
  PaidHops<Price> all{.hops = std::vector<int>(prices.size(), 0)};
  for (const int n : paths.order) {
    all.paid += paths.cost[n];
    for (int back = n; back != 0; back = paths.before[back]) ++all.hops[paths.by[back]];
  }
  return all;
}

// How many links of a rank have the price of each generator.
std::vector<int> multiplicities(const CayleyGraph& graph) {
  std::vector<int> counts;
  for (const int g : graph.generators) counts.push_back(graph.group->inverses[g] == g ? 1 : 2);
  return counts;
}

// Prices whose bound is the optimum, as numbers: each set of paths allows the bound at most what they pay.
// Variables: a price per generator, and the bound, which is maximized (its cost is -1). Subject to: sum(links
// x price) = 1, and for each set of paths, sum(hops x price) >= bound. A row is added for the cheapest paths
// at the current prices until none is violated, or after kMostCuts; prices of a program that is not solved to
// its end are as valid.
std::vector<double> best_prices(const CayleyGraph& graph) {
  const std::vector<int> counts = multiplicities(graph);
  const std::size_t n = counts.size();
  LinearProgram program;
  for (std::size_t g = 0; g < n; ++g) program.add_column(0);
  const int bound = program.add_column(-1);
  const int normal = program.add_row(1, 1);
  for (std::size_t g = 0; g < n; ++g)
    program.entries.push_back({normal, static_cast<int>(g), static_cast<double>(counts[g])});
  std::vector<double> prices(n, 1.0 / degree(graph));
  for (int cut = 0; cut < kMostCuts; ++cut) {
    const PaidHops<double> paths = paid_hops(graph, prices);
    const int row = program.add_row(0, kNoLimit);
    for (std::size_t g = 0; g < n; ++g)
      program.entries.push_back({row, static_cast<int>(g), static_cast<double>(paths.hops[g])});
    program.entries.push_back({row, bound, -1});
    const LpSolution solved = solve(program, 10'000);
    if (!solved.optimal || solved.values[bound] <= paths.paid * (1 + 1e-9)) break;
    for (std::size_t g = 0; g < n; ++g) prices[g] = std::max(0.0, solved.values[g]);
  }
  return prices;
}

}  // namespace

// Both directions of a generator, but one link for an element that is its own inverse.
std::vector<int> links_of(const CayleyGraph& graph) {
  std::vector<int> links;
  for (const int g : graph.generators) {
    links.push_back(g);
    if (graph.group->inverses[g] != g) links.push_back(graph.group->inverses[g]);
  }
  return links;
}

int degree(const CayleyGraph& graph) {
  const std::vector<int> counts = multiplicities(graph);
  return std::accumulate(counts.begin(), counts.end(), 0);
}

std::string name_of(const CayleyGraph& graph) {
  std::vector<std::string> each;
  for (const int g : graph.generators) each.push_back(graph.group->element(g));
  return fmt::format("{}: {}", graph.group->name, fmt::join(each, ", "));
}

// Two commuting generators a and b: a^m = b^twist for the smallest m for which it is a power of b. The
// group is then all a^i b^j, i < m, j < k.
std::string torus_name(const CayleyGraph& graph) {
  const Group& group = *graph.group;
  if (graph.generators.size() != 2) return "";
  const int a = graph.generators[0], b = graph.generators[1];
  if (group.product(a, b) != group.product(b, a)) return "";
  std::vector<int> turns(group.order, -1);  // by power of b: its exponent
  int k = 0;
  for (int at = 0; turns[at] < 0; at = group.product(at, b)) turns[at] = k++;
  int m = 1, at = a;
  for (; turns[at] < 0; at = group.product(at, a)) ++m;
  // Counted from either side: b^t and b^(k - t) are the same torus, mirrored.
  const int twist = std::min(turns[at], k - turns[at]) % k;
  return twist == 0 ? fmt::format("torus {}x{}", m, k)
                    : fmt::format("torus {}x{} twisted by {}", m, k, twist);
}

Topology machine_of(const CayleyGraph& graph, double alpha_us, double beta_us_per_byte) {
  Topology topology{.name = name_of(graph), .ranks = graph.group->order};
  for (Rank rank = 0; rank < topology.ranks; ++rank)
    for (const int g : links_of(graph))
      topology.links.push_back({.src = rank,
                                .dst = graph.group->product(rank, g),
                                .alpha_us = alpha_us,
                                .beta_us_per_byte = beta_us_per_byte});
  return topology;
}

// Breadth first; false where the generators do not generate the group.
bool measure(CayleyGraph& graph) {
  const Group& group = *graph.group;
  const std::vector<int> links = links_of(graph);
  std::vector<int> distance(group.order, -1), queue = {0};
  queue.reserve(group.order);
  distance[0] = 0;
  graph.distances = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int at = queue[i];
    graph.distances += distance[at];
    for (const int g : links)
      if (const int next = group.product(at, g); distance[next] < 0) {
        distance[next] = distance[at] + 1;
        queue.push_back(next);
      }
  }
  graph.diameter = distance[queue.back()];
  return static_cast<int>(queue.size()) == group.order;
}

Rate priced_bound(const CayleyGraph& graph, const std::vector<int>& prices) {
  const std::vector<int> counts = multiplicities(graph);
  long long links = 0;
  for (std::size_t g = 0; g < counts.size(); ++g) links += 1LL * counts[g] * prices[g];
  const long long paid = paid_hops(graph, std::vector<long long>(prices.begin(), prices.end())).paid;
  const long long divisor = std::gcd(paid, links);
  return {paid / divisor, links / divisor};
}

// Prices as fractions of the largest with each denominator up to 60, rounded: each vector of integers is a
// valid bound, and the best of them is kept. All prices 1 is the bound by distances.
Rate alltoall_bound(const CayleyGraph& graph) {
  const std::vector<double> prices = best_prices(graph);
  const double most = *std::ranges::max_element(prices);
  Rate best = priced_bound(graph, std::vector<int>(prices.size(), 1));
  std::vector<int> whole(prices.size());
  for (int denominator = 1; denominator <= kMostDenominator && most > 0; ++denominator) {
    for (std::size_t g = 0; g < prices.size(); ++g)
      whole[g] = static_cast<int>(std::lround(prices[g] / most * denominator));
    if (const Rate rate = priced_bound(graph, whole); less(best, rate)) best = rate;
  }
  return best;
}

}  // namespace chorale
