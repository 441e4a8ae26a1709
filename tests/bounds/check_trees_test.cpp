// What trees show: weighed against all arborescences one by one, and against schedules that there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "bounds/check.h"
#include "bounds/check_prices.h"
#include "bounds/lower_bounds.h"
#include "construct/engine.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

// An arc into each vertex but the first, in all ways; those that reach all from the first count.
std::int64_t lightest_of_all(int vertices, const std::vector<CheckedArc>& arcs) {
  std::int64_t best = -1;
  std::vector<std::size_t> into(vertices, 0);
  const auto try_all = [&](const auto& self, int v, std::int64_t weight) -> void {
    if (v == vertices) {
      for (int u = 1; u < vertices; ++u) {
        int at = u;
        for (int i = 0; i < vertices && at != 0; ++i) at = arcs[into[at]].from;
        if (at != 0) return;
      }
      if (best < 0 || weight < best) best = weight;
      return;
    }
    for (into[v] = 0; into[v] < arcs.size(); ++into[v])
      if (arcs[into[v]].to == v) self(self, v + 1, weight + arcs[into[v]].weight);
  };
  try_all(try_all, 1, 0);
  return best;
}

TEST(CheckTrees, WeighsAsAllArborescencesOneByOne) {
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    const int vertices = 1 + test::below(random, 5);
    std::vector<CheckedArc> arcs;
    for (int a = test::below(random, 12); a > 0; --a)
      arcs.push_back({.from = test::below(random, vertices),
                      .to = test::below(random, vertices),
                      .weight = test::below(random, 6)});
    EXPECT_EQ(arborescence_weight(vertices, 0, arcs), lightest_of_all(vertices, arcs));
  }
}

// All orders in which arcs are used, by what each vertex knows of: the cheapest that ends with all of
// `receivers` knowing all.
std::int64_t cheapest_gossip(int vertices, const std::vector<int>& receivers,
                             const std::vector<CheckedArc>& arcs) {
  std::vector<int> nothing(vertices);
  for (int v = 0; v < vertices; ++v) nothing[v] = 1 << v;
  std::map<std::vector<int>, std::int64_t> cost = {{nothing, 0}};
  std::set<std::pair<std::int64_t, std::vector<int>>> open = {{0, nothing}};
  while (!open.empty()) {
    const auto [spent, known] = *open.begin();
    open.erase(open.begin());
    if (std::ranges::all_of(receivers, [&](int v) { return known[v] == (1 << vertices) - 1; })) return spent;
    for (const CheckedArc& arc : arcs) {
      std::vector<int> next = known;
      next[arc.to] |= known[arc.from];
      const auto [at, fresh] = cost.try_emplace(next, spent + arc.weight);
      if (!fresh && at->second <= spent + arc.weight) continue;
      open.erase({at->second, next});
      at->second = spent + arc.weight;
      open.insert({at->second, next});
    }
  }
  return -1;
}

TEST(CheckTrees, GossipCostsNoMoreThanTheCheapestOrder) {
  std::mt19937 random(13);
  int equal = 0;
  for (int i = 0; i < 300; ++i) {
    const int vertices = 1 + test::below(random, 4);
    std::vector<CheckedArc> arcs;
    for (int a = test::below(random, 10); a > 0; --a)
      arcs.push_back({.from = test::below(random, vertices),
                      .to = test::below(random, vertices),
                      .weight = test::below(random, 5)});
    std::vector<int> receivers = {test::below(random, vertices)};
    for (int v = 0; v < vertices; ++v)
      if (v != receivers.front() && test::below(random, 3) > 0) receivers.push_back(v);
    const std::int64_t shown = gossip_weight(vertices, receivers, arcs);
    const std::int64_t least = cheapest_gossip(vertices, receivers, arcs);
    if (shown < 0) {
      EXPECT_EQ(least, -1) << i;
    }
    if (least < 0) continue;
    EXPECT_GE(shown, 0) << i;
    EXPECT_LE(shown, least) << i;
    equal += shown == least ? 1 : 0;
  }
  EXPECT_GE(equal, 50);
}

// On a ring of one-way links a chunk has n - 1 hops to where it is summed up, and n - 1 more from there.
TEST(CheckTrees, AOneWayRingSumsUpAndTells) {
  for (const int ranks : {2, 3, 5, 8}) {
    Topology ring{.name = "ring", .ranks = ranks};
    for (Rank n = 0; n < ranks; ++n) ring.links.push_back({.src = n, .dst = (n + 1) % ranks});
    const Collective one = make_collective("allreduce", ranks, 1);
    const Prices even{.links = std::vector<int>(ranks, 1)};
    const Rate shown = rate_shown(ring, one, {.kind = Certificate::Kind::Trees, .prices = {even}});
    EXPECT_EQ(shown.rounds * ranks, 2 * (ranks - 1) * shown.chunks);
  }
}

// The weakest partition shows one round per chunk, and so does the weakest cut; at the prices of the engine's
// packing three halves are shown, about, which the engine comes near to.
TEST(CheckTrees, OneWayLinksOweMoreThanPartitionsShow) {
  Topology t{.name = "one way", .ranks = 5};
  for (const auto& [src, dst] :
       std::vector<std::pair<Rank, Rank>>{{0, 1}, {0, 3}, {0, 4}, {1, 4}, {2, 1}, {2, 3}, {3, 2}, {4, 0}})
    t.links.push_back({.src = src, .dst = dst});
  const Collective one = make_collective("allreduce", 5, 1);
  const Rate partition = rate_shown(t, one, LowerBounds(t, one).fewest_rounds().certificate);
  EXPECT_EQ(partition, (Rate{.rounds = 1, .chunks = 1}));
  Construction construction({.topology = t, .one = one, .bound = partition, .work = kEngineWork / 30});
  std::optional<Prices> prices;
  double best = 100;
  while (construction.advance([&](const Point& point) {
    best = std::min(best, static_cast<double>(point.cost.rounds) / point.cost.chunks);
  }))
    if (std::optional<Prices> more = construction.take_prices()) prices = std::move(more);
  ASSERT_TRUE(prices);
  const Rate shown = rate_shown(t, one, {.kind = Certificate::Kind::Trees, .prices = {*prices}});
  const double rate = static_cast<double>(shown.rounds) / static_cast<double>(shown.chunks);
  EXPECT_GT(rate, 1.48);
  EXPECT_LE(rate, 1.5);
  EXPECT_LE(best, 1.01 * rate);
}

// All links between three ranks are one bus of one chunk per round. A chunk for both others crosses it twice,
// which the way to the most expensive does not state.
TEST(CheckTrees, ABusIsCrossedOnceForEachWhoWantsTheChunk) {
  Topology bus{.name = "bus", .ranks = 3};
  SharedLimit limit{.name = "bus", .bandwidth = 1};
  for (Rank a = 0; a < 3; ++a)
    for (Rank b = 0; b < 3; ++b)
      if (a != b) {
        limit.links.push_back(static_cast<LinkId>(bus.links.size()));
        bus.links.push_back({.src = a, .dst = b});
      }
  bus.limits.push_back(limit);
  const Prices prices{.links = std::vector<int>(6, 0), .limits = {1}};
  const auto shown = [&](const char* name, Certificate::Kind kind) {
    return rate_shown(bus, make_collective(name, 3, 1), {.kind = kind, .prices = {prices}});
  };
  EXPECT_EQ(shown("broadcast", Certificate::Kind::Weights), (Rate{.rounds = 1, .chunks = 1}));
  EXPECT_EQ(shown("broadcast", Certificate::Kind::Trees), (Rate{.rounds = 2, .chunks = 1}));
  EXPECT_EQ(shown("reduce", Certificate::Kind::Trees), (Rate{.rounds = 2, .chunks = 1}));
  EXPECT_EQ(shown("allgather", Certificate::Kind::Trees), (Rate{.rounds = 6, .chunks = 1}));
  EXPECT_EQ(shown("reducescatter", Certificate::Kind::Trees), (Rate{.rounds = 6, .chunks = 1}));
  EXPECT_EQ(shown("gather", Certificate::Kind::Trees), (Rate{.rounds = 2, .chunks = 1}));  // by paths

  Claim claim{.collective = CollectiveKind::Broadcast,
              .rounds = 2,
              .certificate = {.kind = Certificate::Kind::Trees, .prices = {prices}}};
  const Collective one = make_collective("broadcast", 3, 1);
  EXPECT_FALSE(fault(bus, one, claim));
  claim.rounds = 3;
  EXPECT_TRUE(fault(bus, one, claim));
  // A switch that copies counts both sends once.
  claim.rounds = 2;
  Topology able = bus;
  able.limits[0].abilities.multicast = true;
  EXPECT_TRUE(fault(able, one, claim));
  claim.certificate.prices.push_back(prices);
  EXPECT_TRUE(fault(bus, one, claim));
}

// Any prices whatever show what is true, so no more than the strongest that is known to be so, where that is
// the optimum: cuts are, without limits (Edmonds 1973).
TEST(CheckTrees, AnyPricesShowNoMoreThanTheOptimum) {
  std::mt19937 random(12);
  int equal = 0;
  for (int i = 0; i < 300; ++i) {
    const Topology t = test::random_machine(random, {.most_limits = 0});
    const char* const names[] = {"allgather", "broadcast", "reduce", "reducescatter"};
    const Collective one = make_collective(names[i % 4], t.ranks, 1);
    Prices prices{.links = {}, .limits = std::vector<int>(t.limits.size(), 0)};
    for (std::size_t l = 0; l < t.links.size(); ++l) prices.links.push_back(test::below(random, 3));
    const Rate trees = rate_shown(t, one, {.kind = Certificate::Kind::Trees, .prices = {prices}});
    const Rate cuts = rate_shown(t, one, LowerBounds(t, one).fewest_rounds().certificate);
    EXPECT_FALSE(less(cuts, trees)) << i;
    equal += !less(trees, cuts) ? 1 : 0;
  }
  EXPECT_GE(equal, 1);
}

}  // namespace
}  // namespace chorale
