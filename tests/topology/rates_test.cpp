#include "topology/rates.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/kit/random.h"
#include "topology/switches.h"

namespace chorale::test {
namespace {

// One machine in three spellings: all rates as bandwidths, all as betas, and each link by its own mixture. A
// limit has the unit of its links, so here all links of a limit are spelled alike.
TEST(Rates, SpellingsOfOneMachineAreOneMachine) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const Topology machine = random_machine(random, {.most_ranks = 6, .widest = 9, .most_limits = 0});
    Topology by_bandwidth = machine, by_beta = machine, mixed = machine;
    bool has_one = false;  // else the smallest integers are others
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      const int width = machine.links[l].bandwidth;
      has_one = has_one || width == 1;
      by_beta.links[l].bandwidth = 1;
      by_beta.links[l].beta_us_per_byte = 4e-5 / width;
      mixed.links[l].bandwidth = between(random, 1, 5);
      mixed.links[l].beta_us_per_byte = 4e-5 * mixed.links[l].bandwidth / width;
    }
    if (!has_one) continue;
    EXPECT_EQ(with_rates_as_bandwidths(by_bandwidth), by_bandwidth);
    EXPECT_EQ(with_rates_as_bandwidths(by_beta), by_bandwidth);
    EXPECT_EQ(with_rates_as_bandwidths(mixed), by_bandwidth);
  }
}

// 300 GB/s beside 25 GB/s: 12 chunks beside one, and a NIC's limit with it.
TEST(Rates, ALimitHasTheUnitOfItsLinks) {
  Topology machine{.ranks = 2};
  machine.links = {
      {.src = 0, .dst = 1, .beta_us_per_byte = 4e-5 / 12}, {.src = 0, .dst = 1}, {.src = 1, .dst = 0}};
  machine.limits = {{.links = {1, 2}, .bandwidth = 2}};
  const Topology stated = with_rates_as_bandwidths(machine);
  EXPECT_EQ(stated.links[0].bandwidth, 12);
  EXPECT_EQ(stated.links[1].bandwidth, 1);
  EXPECT_EQ(stated.limits[0].bandwidth, 2);
  EXPECT_EQ(stated.links[0].beta_us_per_byte, 4e-5);
}

// Measured rates are in no small ratio: bandwidths are near it, and each link's rate is what it was.
TEST(Rates, MeasuredRatesStay) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    Topology machine = random_machine(random, {.most_ranks = 4, .widest = 1, .most_limits = 0});
    for (Link& link : machine.links) link.beta_us_per_byte = between(random, 100'003, 999'983) * 1e-10;
    const Topology stated = with_rates_as_bandwidths(machine);
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      const Link &a = machine.links[l], &b = stated.links[l];
      EXPECT_NEAR(b.bandwidth / b.beta_us_per_byte * a.beta_us_per_byte / a.bandwidth, 1, 1e-9);
      EXPECT_NEAR(b.beta_us_per_byte / stated.links[0].beta_us_per_byte, 1, 0.041);
    }
  }
}

// What no integers say stays as it is: rates of a limit whose links have several betas, or a million apart.
TEST(Rates, WhatNoIntegersExpressStays) {
  Topology machine{.ranks = 2};
  machine.links = {{.src = 0, .dst = 1, .beta_us_per_byte = 1e-9},
                   {.src = 1, .dst = 0, .beta_us_per_byte = 1}};
  EXPECT_EQ(with_rates_as_bandwidths(machine), machine);
  machine.links[0].beta_us_per_byte = 0.5;
  machine.limits = {{.links = {0, 1}, .bandwidth = 1}};
  EXPECT_EQ(with_rates_as_bandwidths(machine), machine);
}

}  // namespace
}  // namespace chorale::test
