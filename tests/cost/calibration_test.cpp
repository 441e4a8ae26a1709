// Times are made up from machines whose numbers are known, by the model as it is written down in the header.
#include "cost/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Link link(Node src, Node dst, int bandwidth, double alpha_us, double beta) {
  return {.src = src, .dst = dst, .bandwidth = bandwidth, .alpha_us = alpha_us, .beta_us_per_byte = beta};
}

// Every way there is, tried: the one of fewest links, of these the widest.
void all_ways(const Topology& t, Node at, Rank dst, std::vector<LinkId>& now,
              std::vector<std::vector<LinkId>>& found) {
  if (at == dst) {
    found.push_back(now);
    return;
  }
  if (now.size() > 4 || (!now.empty() && at < t.ranks)) return;
  for (LinkId l = 0; l < static_cast<LinkId>(t.links.size()); ++l)
    if (t.links[l].src == at) {
      now.push_back(l);
      all_ways(t, t.links[l].dst, dst, now, found);
      now.pop_back();
    }
}
double slowest(const Topology& t, const std::vector<LinkId>& way) {
  double us = 0;
  for (const LinkId l : way) us = std::max(us, t.links[l].beta_us_per_byte / t.links[l].bandwidth);
  return us;
}
double latency(const Topology& t, const std::vector<LinkId>& way) {
  double us = 0;
  for (const LinkId l : way) us += t.links[l].alpha_us;
  return us;
}

double message_us(const Topology& t, const RankMessage& message) {
  const std::vector<LinkId> way = message_route(t, message.src, message.dst);
  return latency(t, way) + static_cast<double>(message.bytes) * slowest(t, way);
}

MessageTime timed(const Topology& t, const RankMessage& message) {
  const double us = message_us(t, message);
  return {.message = message, .us = {us, us, us}};
}

Topology random_machine(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Topology t{.name = "random", .ranks = 2 + below(5), .switches = below(3)};
  for (Node a = 0; a < t.ranks + t.switches; ++a)
    for (Node b = 0; b < t.ranks + t.switches; ++b)
      if (a != b && below(3) > 0)
        t.links.push_back(link(a, b, 1 + below(3), 1, a < t.ranks && b < t.ranks ? 4e-5 : 8e-5));
  return t;
}

TEST(MessageWay, IsTheWidestOfTheShortest) {
  std::mt19937 random(1);
  int over_switches = 0;
  for (int i = 0; i < 200; ++i) {
    const Topology t = random_machine(random);
    for (Rank src = 0; src < t.ranks; ++src)
      for (Rank dst = 0; dst < t.ranks; ++dst) {
        if (src == dst) continue;
        std::vector<std::vector<LinkId>> found;
        std::vector<LinkId> now;
        all_ways(t, src, dst, now, found);
        const std::vector<LinkId> way = message_route(t, src, dst);
        if (found.empty()) {
          EXPECT_THAT(way, IsEmpty());
          continue;
        }
        std::pair best(std::size_t{99}, 0.0);
        for (const auto& each : found) best = std::min(best, std::pair(each.size(), slowest(t, each)));
        EXPECT_EQ(std::pair(way.size(), slowest(t, way)), best);
        over_switches += way.size() > 1;
      }
  }
  EXPECT_GT(over_switches, 100);
}

// What was described is wrong by factors; links of a class stay alike.
TEST(Calibration, FindsWhatTimesWereMadeOf) {
  std::mt19937 random(2);
  int told = 0;
  for (int i = 0; i < 100; ++i) {
    const Topology described = random_machine(random);
    Topology real = described;
    std::uniform_real_distribution<double> factor(0.5, 2);
    const std::vector<LinkClass> classes = link_classes(described);
    // One latency a class is found where ways are of one class, or of classes in described proportions: all
    // alphas are 1 in the description, so they are made to be the same in truth.
    const double alpha = factor(random), beta = factor(random);
    for (const LinkClass& each : classes)
      for (const LinkId l : each.links) {
        real.links[l].alpha_us = alpha;
        real.links[l].beta_us_per_byte *= beta;
      }
    std::vector<MessageTime> times;
    for (const auto& [src, dst] : pairs_to_measure(described, 3))
      for (const std::int64_t bytes : {8, 1 << 16, 1 << 20}) times.push_back(timed(real, {src, dst, bytes}));
    const Calibration found = calibrated(described, times, "test");
    for (std::size_t l = 0; l < real.links.size(); ++l) {
      const auto its = std::ranges::find_if(found.classes, [&](const CalibratedClass& each) {
        return std::ranges::count(each.links.links, static_cast<LinkId>(l)) > 0;
      });
      const Link &now = found.machine.links[l], &truth = real.links[l], &before = described.links[l];
      EXPECT_NEAR(now.alpha_us, its->alpha_us ? truth.alpha_us : before.alpha_us, 1e-6);
      EXPECT_NEAR(now.beta_us_per_byte,
                  its->beta_us_per_byte ? truth.beta_us_per_byte : before.beta_us_per_byte, 1e-9);
      told += its->beta_us_per_byte.has_value();
    }
  }
  EXPECT_GT(told, 500);
}

// 0 and 1 on a switch that 2 reaches over another one: the joint is told from ways that it is a part of.
TEST(Calibration, TakesWhatIsKnownFromLongerWays) {
  Topology t{.name = "two", .ranks = 3, .switches = 2};
  for (const auto& [a, b, bandwidth] :
       std::vector<std::tuple<int, int, int>>{{0, 3, 4}, {1, 3, 4}, {2, 4, 4}, {3, 4, 1}}) {
    t.links.push_back(link(a, b, bandwidth, bandwidth == 1 ? 3 : 1, 4e-5));
    t.links.push_back(link(b, a, bandwidth, bandwidth == 1 ? 3 : 1, 4e-5));
  }
  Topology real = t;
  for (Link& each : real.links) {
    each.alpha_us = each.bandwidth == 1 ? 10 : 2;
    each.beta_us_per_byte = each.bandwidth == 1 ? 9e-5 : 3e-5;
  }
  std::vector<MessageTime> times;
  for (const auto& [src, dst] : pairs_to_measure(t, 2))
    for (const std::int64_t bytes : {1, 1 << 16, 1 << 20}) times.push_back(timed(real, {src, dst, bytes}));
  EXPECT_EQ(calibrated(t, times, "test").machine.links.size(), real.links.size());
  for (std::size_t l = 0; l < t.links.size(); ++l) {
    EXPECT_NEAR(calibrated(t, times, "test").machine.links[l].alpha_us, real.links[l].alpha_us, 1e-6);
    EXPECT_NEAR(calibrated(t, times, "test").machine.links[l].beta_us_per_byte,
                real.links[l].beta_us_per_byte, 1e-9);
  }
}

TEST(Calibration, MessagesBehindOthersTellTheRateAlone) {
  const Topology t{.name = "pair", .ranks = 2, .links = {link(0, 1, 1, 1, 4e-5)}};
  const auto time = [](std::int64_t bytes, double us, bool by_itself) {
    return MessageTime{.message = {0, 1, bytes}, .us = {us, us, us}, .by_itself = by_itself};
  };
  const std::vector<MessageTime> behind = {time(1000, 1, false), time(2000, 2, false)};
  Calibration found = calibrated(t, behind, "test");
  EXPECT_EQ(found.machine.links[0].alpha_us, 1);
  EXPECT_FALSE(found.classes[0].alpha_us);
  EXPECT_DOUBLE_EQ(found.machine.links[0].beta_us_per_byte, 1e-3);
  std::vector<MessageTime> both = behind;
  both.push_back(time(1, 7.001, true));
  both.push_back(time(1000, 12, true));
  found = calibrated(t, both, "test");
  EXPECT_DOUBLE_EQ(found.machine.links[0].alpha_us, 7);
  EXPECT_DOUBLE_EQ(found.machine.links[0].beta_us_per_byte, 1e-3);
  const std::vector<MessageTime> one = {time(8, 3, true)};  // no rate: it counts as latency
  found = calibrated(t, one, "test");
  EXPECT_EQ(found.machine.links[0].alpha_us, 3);
  EXPECT_EQ(found.machine.links[0].beta_us_per_byte, 4e-5);
}

TEST(Calibration, WhatCannotBeIsRefused) {
  const Topology t{.name = "way", .ranks = 3, .links = {link(0, 1, 1, 1, 4e-5), link(1, 2, 1, 1, 4e-5)}};
  const auto refusal = [&](const std::vector<MessageTime>& times) {
    return test::refusal_of([&] { calibrated(t, times, "f.txt"); });
  };
  EXPECT_THAT(refusal({{.message = {0, 2, 8}, .us = {1, 1, 1}}}), HasSubstr("f.txt: nothing leads 0 -> 2"));
  EXPECT_THAT(refusal({{.message = {0, 1, 8}, .us = {0, 0, 0}}}), HasSubstr("8 bytes 0 -> 1 take 0 us"));
}

// On a busy machine.
TEST(Calibration, OfTimesThatDoNotRiseTheLeastCount) {
  const Topology t{.name = "pair", .ranks = 2, .links = {link(0, 1, 1, 1, 4e-5)}};
  const auto found = [&](const Spread& shorter, const Spread& longer) {
    const std::vector<MessageTime> times = {{.message = {0, 1, 1000}, .us = shorter},
                                            {.message = {0, 1, 2000}, .us = longer}};
    return calibrated(t, times, "test");
  };
  EXPECT_DOUBLE_EQ(found({1, 9, 20}, {3, 8, 9}).machine.links[0].beta_us_per_byte, 2e-3);
  EXPECT_FALSE(found({3, 9, 20}, {3, 8, 9}).classes[0].beta_us_per_byte);
  EXPECT_EQ(found({3, 9, 20}, {3, 8, 9}).machine.links[0].beta_us_per_byte, 4e-5);
}

TEST(Crowds, LoadLinksAndLimits) {
  Topology t{.name = "limited", .ranks = 3};
  for (Rank a = 0; a < 3; ++a)
    for (Rank b = 0; b < 3; ++b)
      if (a != b) t.links.push_back(link(a, b, 2, 1, 4e-5));
  const std::vector<Crowd> crowds = crowds_to_measure(t);
  ASSERT_EQ(crowds.size(), 1u);
  EXPECT_EQ(crowds[0].messages.size(), 6u);
  EXPECT_DOUBLE_EQ(predicted(t, crowds[0]).us_per_byte, 4e-5);  // each link its bandwidth times a byte
  t.limits.push_back({.name = "out of 0", .links = {0, 1}, .bandwidth = 1});
  EXPECT_DOUBLE_EQ(predicted(t, crowds[0]).us_per_byte, 4 * 4e-5);

  const Topology star{.name = "star",
                      .ranks = 4,
                      .switches = 1,
                      .links = {link(0, 4, 1, 1, 4e-5), link(4, 0, 1, 1, 4e-5), link(1, 4, 1, 1, 4e-5),
                                link(4, 1, 1, 1, 4e-5), link(2, 4, 1, 1, 4e-5), link(4, 2, 1, 1, 4e-5),
                                link(3, 4, 1, 1, 4e-5), link(4, 3, 1, 1, 4e-5)}};
  const std::vector<Crowd> of_star = crowds_to_measure(star);
  ASSERT_EQ(of_star.size(), 2u);  // one after it, and two
  EXPECT_THAT(of_star[1].messages, ElementsAre(RankMessage{0, 2, 1}, RankMessage{1, 3, 1},
                                               RankMessage{2, 0, 1}, RankMessage{3, 1, 1}));
  EXPECT_DOUBLE_EQ(predicted(star, of_star[1]).us_per_byte, 4e-5);
}

TEST(Crowds, MakeTheClassThatDecidesSlower) {
  Topology t{.name = "two kinds", .ranks = 2, .links = {link(0, 1, 1, 1, 4e-5), link(1, 0, 2, 1, 4e-5)}};
  std::vector<MessageTime> times;
  for (const Rank src : {0, 1})
    for (const std::int64_t bytes : {8, 1000, 2000}) times.push_back(timed(t, {src, 1 - src, bytes}));
  Calibration calibration = calibrated(t, times, "test");
  const std::vector<Crowd> crowds = crowds_to_measure(t);
  ASSERT_EQ(crowds.size(), 2u);
  share(calibration, crowds, std::vector{4e-5, 6e-5});
  EXPECT_NEAR(calibration.machine.links[0].beta_us_per_byte, 4e-5, 1e-12);
  EXPECT_NEAR(calibration.machine.links[1].beta_us_per_byte, 6e-5, 1e-12);
  EXPECT_NEAR(calibration.classes[1].shared, 1.5, 1e-9);
  // Faster than links by themselves: nothing is slower.
  share(calibration, crowds, std::vector{3e-5, 6e-5});
  EXPECT_NEAR(calibration.machine.links[0].beta_us_per_byte, 4e-5, 1e-12);
  EXPECT_NEAR(calibration.machine.links[1].beta_us_per_byte, 6e-5, 1e-12);
}

// Times that a call, alphas and betas make are found again, where the times tell them apart: few steps at
// small sizes and many at large ones.
TEST(MachineFit, FindsWhatTheTimesWereMadeOf) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const double call = random() % 200 / 10.0, alphas = 0.5 + random() % 20 / 10.0,
                 betas = 0.5 + random() % 20 / 10.0;
    std::vector<CollectiveTime> times;
    for (double bytes = 8; bytes < 1e9; bytes *= 8) {
      const double steps = bytes < 1e5 ? 2 + random() % 3 : 10 + random() % 20, by_bytes = bytes / 1e5;
      times.push_back({call + alphas * steps + betas * by_bytes, steps, by_bytes});
    }
    const MachineFit fit = fit_machine(times);
    EXPECT_NEAR(fit.call_us, call, 0.5) << round;
    EXPECT_NEAR(fit.alphas, alphas, 0.1) << round;
    EXPECT_NEAR(fit.betas, betas, 0.02) << round;
  }
}

// One collective with the same steps throughout: what is left over of its floor is the call, and never less
// than nothing.
TEST(MachineFit, WhatIsLeftOpenIsTheCall) {
  const auto floor_of = [](double us) {
    std::vector<CollectiveTime> times;
    for (double bytes = 8; bytes < 1e6; bytes *= 8) times.push_back({us + bytes / 1e5, 10, bytes / 1e5});
    return fit_machine(times);
  };
  EXPECT_NEAR(floor_of(17).call_us, 7, 0.1);
  EXPECT_NEAR(floor_of(17).alphas, 1, 0.01);
  EXPECT_EQ(floor_of(6).call_us, 0);
  EXPECT_NEAR(floor_of(6).alphas, 0.6, 0.01);
  EXPECT_EQ(fit_machine({}).call_us, 0);
  const Topology pair = {.ranks = 2, .links = {link(0, 1, 1, 0.7, 4e-5), link(1, 0, 1, 0.7, 4e-5)}};
  const Topology fitted = with_fit(pair, {.call_us = 3, .alphas = 2, .betas = 0.5});
  EXPECT_EQ(fitted.call_us, 3);
  EXPECT_EQ(fitted.links[0], link(0, 1, 1, 1.4, 2e-5));
}

}  // namespace
}  // namespace chorale
