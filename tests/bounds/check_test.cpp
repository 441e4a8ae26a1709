// What the checker refuses. Finders are only used to get good certificates to spoil.
#include "bounds/check.h"

#include <gtest/gtest.h>

#include <climits>

#include "bounds/lower_bounds.h"
#include "tests/bounds/machines.h"

namespace chorale {
namespace {

struct Case {
  Topology topology = {};
  Collective collective = {};
  Claim claim = {};
  std::string wrong() const {
    const std::optional<Fault> found = fault(topology, collective, claim);
    return found ? found->words : "";
  }
};

// 7 * 6 chunks enter a rank over 6 units: 7 rounds, and not a chunk to spare.
Case tight_cut() {
  Case c{.topology = dgx1(), .collective = make_collective("allgather", 8, 6)};
  c.claim = fewest_rounds(c.topology, c.collective);
  return c;
}

// 2 * 7 * 24 crossings over 48: 7 rounds exactly.
Case tight_partition() {
  Case c{.topology = dgx1(), .collective = make_collective("allreduce", 8, 24)};
  c.claim = fewest_rounds(c.topology, c.collective);
  return c;
}

// Five steps, three links, 12 chunks: 20 rounds exactly (known_answers_test.cpp).
Case tight_timed() {
  Case c{.topology = line(4), .collective = make_collective("broadcast", 4, 12)};
  c.claim = fewest_rounds_in(c.topology, c.collective, 5);
  return c;
}

TEST(Check, AcceptsWhatIsShown) {
  EXPECT_EQ(tight_cut().wrong(), "");
  EXPECT_EQ(tight_cut().claim.rounds, 7);
  EXPECT_EQ(tight_partition().wrong(), "");
  EXPECT_EQ(tight_partition().claim.rounds, 7);
  EXPECT_EQ(tight_timed().wrong(), "");
  EXPECT_EQ(tight_timed().claim.rounds, 20);
  EXPECT_EQ(tight_timed().claim.certificate.prices.size(), 5u);
}

TEST(Check, AcceptsLessAndRefusesMore) {
  for (Case c : {tight_cut(), tight_partition(), tight_timed()}) {
    const int shown = c.claim.rounds;
    for (c.claim.rounds = 0; c.claim.rounds <= shown; ++c.claim.rounds)
      EXPECT_EQ(c.wrong(), "") << c.claim.rounds;
    EXPECT_NE(c.wrong(), "");
    c.claim.rounds = kNoSchedule;
    EXPECT_NE(c.wrong(), "");
    c.claim.rounds = -1;
    EXPECT_NE(c.wrong(), "");
  }
}

TEST(Check, RefusesAnyOtherPriceOfATightCut) {
  const Case good = tight_cut();
  for (std::size_t l = 0; l < good.topology.links.size(); ++l) {
    Case c = good;
    int& price = c.claim.certificate.prices[0].links[l];
    // In the cut: one link more expensive than the others is more expensive in the budget than for the
    // chunks, which avoid it. Outside: the budget grows and nobody pays. Free: all chunks take it.
    price += 1;
    EXPECT_NE(c.wrong(), "") << "link " << l << " dearer";
    price -= 1;
    if (price == 0) continue;
    price = 0;
    EXPECT_NE(c.wrong(), "") << "link " << l << " free";
  }
}

TEST(Check, PricesScale) {
  Case c = tight_cut();
  for (int& price : c.claim.certificate.prices[0].links) price *= INT_MAX;
  EXPECT_EQ(c.wrong(), "");
  EXPECT_EQ(rate_shown(c.topology, c.collective, c.claim.certificate).rounds, 7);
  EXPECT_EQ(rate_shown(c.topology, c.collective, c.claim.certificate).chunks, 6);
  ++c.claim.rounds;
  EXPECT_NE(c.wrong(), "");
}

TEST(Check, RefusesMoreBandwidthOrFewerChunks) {
  for (Case c : {tight_cut(), tight_partition(), tight_timed()}) {
    Case faster = c;
    for (Link& link : faster.topology.links) ++link.bandwidth;
    EXPECT_NE(faster.wrong(), "");
    Case smaller = c;
    smaller.collective.chunks.resize(smaller.collective.chunks.size() / 2);
    EXPECT_NE(smaller.wrong(), "");
  }
}

TEST(Check, RefusesWhatDoesNotFit) {
  Case c = tight_cut();
  const auto refuses = [&c](auto&& spoil) {
    Case spoilt = c;
    spoil(spoilt);
    return spoilt.wrong() != "";
  };
  const auto prices = [](Case& x) -> Prices& { return x.claim.certificate.prices[0]; };
  EXPECT_TRUE(refuses([](Case& x) { x.claim.collective = CollectiveKind::Broadcast; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.chunks = 5; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.steps = -1; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate = {}; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.kind = Certificate::Kind::Refutation; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices.clear(); }));
  EXPECT_TRUE(refuses([&](Case& x) { x.claim.certificate.prices.push_back(prices(x)); }));
  EXPECT_TRUE(refuses([&](Case& x) { prices(x).links.pop_back(); }));
  EXPECT_TRUE(refuses([&](Case& x) { prices(x).links.push_back(0); }));
  EXPECT_TRUE(refuses([&](Case& x) { prices(x).limits.push_back(0); }));
  EXPECT_TRUE(refuses([&](Case& x) { std::fill(prices(x).links.begin(), prices(x).links.end(), 0); }));
  EXPECT_TRUE(refuses([&](Case& x) { prices(x).links[3] = -1; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.ranks = 9; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.switches = 1; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.links[0].dst = 8; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.links[0].src = -1; }));
  EXPECT_TRUE(refuses([](Case& x) { x.collective.chunks[0].post = {1, 8}; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.limits.push_back({.links = {99}}); }));
}

// A negative price would pay for others' passage: the budget is smaller and nobody has to take the link.
TEST(Check, NegativePricesBuyNothing) {
  Case c = tight_cut();
  ++c.claim.rounds;
  for (std::size_t l = 0; l < c.topology.links.size(); ++l)
    if (c.claim.certificate.prices[0].links[l] == 0) c.claim.certificate.prices[0].links[l] = -1;
  EXPECT_NE(c.wrong(), "");
  Case hubbed{.topology = hub(4), .collective = make_collective("allgather", 4, 1)};
  hubbed.claim = fewest_rounds(hubbed.topology, hubbed.collective);
  EXPECT_EQ(hubbed.wrong(), "");
  hubbed.claim.certificate.prices[0].limits.back() -= 2;
  EXPECT_NE(hubbed.wrong(), "");
}

TEST(Check, TimedPricesAreForTheirStepsOnly) {
  Case c = tight_timed();
  c.claim.steps = 6;  // 18 rounds are enough
  EXPECT_NE(c.wrong(), "");
  c.claim.steps = kAnySteps;
  EXPECT_NE(c.wrong(), "");
  c.claim.steps = 5;
  std::swap(c.claim.certificate.prices[0], c.claim.certificate.prices[2]);
  EXPECT_NE(c.wrong(), "");
  // Less time than the claim is about: out of reach is not a price.
  c.claim.steps = 2;
  c.claim.certificate.prices.resize(2);
  EXPECT_NE(c.wrong(), "");
}

TEST(Check, StepsOfASumAreItsOwn) {
  // A Reduce to rank 0 on line:4 is Broadcast's mirror in space and time: rank 3's link is used first. With
  // rank 3's link dear in step 1, and so on, 3 rounds are shown; with the steps exchanged the contributions
  // wait and pay nothing.
  Case c{.topology = line(4), .collective = make_collective("reduce", 4, 1)};
  c.claim = fewest_rounds_in(c.topology, c.collective, 3);
  EXPECT_EQ(c.claim.rounds, 3);
  EXPECT_EQ(c.wrong(), "");
  std::swap(c.claim.certificate.prices.front(), c.claim.certificate.prices.back());
  EXPECT_NE(c.wrong(), "");
}

TEST(Check, Distances) {
  const Topology t = ring(8);
  Case c{.topology = t, .collective = make_collective("allgather", 8, 1)};
  c.claim = {.collective = CollectiveKind::Allgather,
             .steps = 3,
             .rounds = kNoSchedule,
             .certificate = {.kind = Certificate::Kind::Distance, .chunk = 2, .rank = 6}};
  EXPECT_EQ(c.wrong(), "");  // 2 and 6 are opposite
  Case spoilt = c;
  spoilt.claim.steps = 4;
  EXPECT_NE(spoilt.wrong(), "");
  spoilt.claim.steps = kAnySteps;
  EXPECT_NE(spoilt.wrong(), "");
  spoilt = c;
  spoilt.claim.certificate.rank = 7;
  EXPECT_NE(spoilt.wrong(), "");
  for (int none : {-1, 8, INT_MAX}) {
    spoilt.claim.certificate.rank = none;
    EXPECT_NE(spoilt.wrong(), "");
    spoilt.claim.certificate = c.claim.certificate;
    spoilt.claim.certificate.chunk = none;
    EXPECT_NE(spoilt.wrong(), "");
  }
  // A second source, two links away, and the distance is gone.
  spoilt = c;
  spoilt.collective.chunks[2].pre = {2, 4};
  EXPECT_NE(spoilt.wrong(), "");
  // In a sum it is a second contribution: what rank 2 has is still needed.
  spoilt.collective.combining = true;
  spoilt.claim.certificate.rank = 2;
  EXPECT_EQ(spoilt.wrong(), "");
  for (int none : {-1, 8, INT_MAX}) {
    spoilt.claim.certificate.rank = none;
    EXPECT_NE(spoilt.wrong(), "");
  }
}

TEST(Check, Partitions) {
  const Case good = tight_partition();
  ASSERT_EQ(good.claim.certificate.kind, Certificate::Kind::Partition);
  const auto refuses = [&good](auto&& spoil) {
    Case spoilt = good;
    spoil(spoilt);
    return spoilt.wrong() != "";
  };
  const auto group = [](Case& x) -> std::vector<int>& { return x.claim.certificate.group; };
  EXPECT_TRUE(refuses([&](Case& x) { group(x)[0] = group(x)[1]; }));
  EXPECT_TRUE(refuses([&](Case& x) { group(x).assign(8, 0); }));
  EXPECT_TRUE(refuses([&](Case& x) { group(x).pop_back(); }));
  EXPECT_TRUE(refuses([&](Case& x) { group(x).push_back(9); }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices[0].links[5] = 0; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices[0].links[5] = 10; }));  // 14 * 24 / 57 < 6
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices.push_back(x.claim.certificate.prices[0]); }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices.clear(); }));
  // Copies of one's chunk to all others cross 7 times, not 14; as an Allgather of as many chunks it is not
  // shown.
  EXPECT_TRUE(refuses([](Case& x) {
    x.collective = make_collective("broadcast", 8, 24);
    x.claim.collective = CollectiveKind::Broadcast;
  }));
  // Names of groups do not matter.
  Case renamed = good;
  for (int& g : group(renamed)) g = 1000 - 7 * g;
  EXPECT_EQ(renamed.wrong(), "");
}

// One NIC in a step sends to three ranks what each of them has to get: three times a chunk, and a destination
// alone shows one.
Case port_of_three() {
  Topology t = no_links(4);
  for (Rank n = 1; n < 4; ++n) add_link(t, 0, n, 5);
  t.limits.push_back({.name = "NIC", .links = {0, 1, 2}, .bandwidth = 1});
  Case c{.topology = t, .collective = make_collective("broadcast", 4, 1)};
  c.claim = {.collective = CollectiveKind::Broadcast, .any_chunks = true, .steps = 1, .rounds = 3};
  c.claim.certificate = {.kind = Certificate::Kind::Cuts,
                         .prices = {{.links = {0, 0, 0}, .limits = {1}}},
                         .cuts = {{.price = 1, .until = {-1, 1, -1, -1}},
                                  {.price = 1, .until = {-1, -1, 1, -1}},
                                  {.price = 1, .until = {-1, -1, -1, 1}}}};
  return c;
}

TEST(Check, Cuts) {
  const Case good = port_of_three();
  ASSERT_EQ(good.wrong(), "");
  EXPECT_EQ(rate_shown(good.topology, good.collective, good.claim.certificate, 1), (Rate{3, 1}));
  const auto refuses = [&good](auto&& spoil) {
    Case spoilt = good;
    spoil(spoilt);
    return spoilt.wrong() != "";
  };
  const auto cut = [](Case& x) -> TimedCut& { return x.claim.certificate.cuts.front(); };
  EXPECT_TRUE(refuses([](Case& x) { x.claim.rounds = 4; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.rounds = kNoSchedule; }));
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).price = 2; }));  // a send pays 1
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).price = -1; }));
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).until.pop_back(); }));
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).until[1] = 0; }));  // it may enter after that
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).until[0] = 0; }));  // it starts inside
  EXPECT_TRUE(refuses([&](Case& x) { cut(x).until[2] = 1; }));  // what goes to rank 2 enters two cuts
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices[0].limits[0] = 0; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices[0].links[0] = 1; }));  // a round pays 6
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.prices.clear(); }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.steps = 2; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.steps = kAnySteps; }));
  EXPECT_TRUE(refuses([](Case& x) { x.claim.certificate.group = {0, 1}; }));
  EXPECT_TRUE(refuses([](Case& x) { x.topology.limits[0].abilities.multicast = true; }));
  // A partition whose crossings have nothing left adds nothing.
  Case parted = good;
  parted.claim.certificate.group = {0, 1, 2, 3};
  EXPECT_EQ(parted.wrong(), "");
  // Nor does it take away.
  parted.claim.certificate.cuts.clear();
  EXPECT_EQ(parted.wrong(), "");
}

TEST(Check, RatesOfOtherCertificates) {
  const Case c = tight_timed();
  EXPECT_EQ(rate_shown(c.topology, c.collective, c.claim.certificate).rounds,
            0);  // holds for five steps only
  EXPECT_EQ(rate_shown(c.topology, c.collective, {}).rounds, 0);
  EXPECT_EQ(rate_shown(c.topology, c.collective, {}).chunks, 1);
}

}  // namespace
}  // namespace chorale
