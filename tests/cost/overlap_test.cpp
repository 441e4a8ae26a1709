// Communications side by side, against a fluid that is moved in small steps.
#include "cost/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace chorale {
namespace {

double alone_us(const Communication& one) {
  double us = 0;
  for (const StepLoad& step : one.steps) us += step.latency_us + step.sending_us;
  return us * one.times;
}

double end_of(const std::vector<TimeSpan>& spans) {
  double end = 0;
  for (const TimeSpan& span : spans) end = std::max(end, span.to_us);
  return end;
}

// Everybody pours a drop in turn, as long as no path that he uses has had its fill; then time goes on a
// little.
std::vector<TimeSpan> poured(const std::vector<Communication>& all, double dt) {
  constexpr int kDrops = 100;  // of what a step sends in dt at its own pace
  struct At {
    bool begun = false, ended = false;
    int done = 0;
    std::size_t step = 0;
    double waited = 0, sent = 0;
  };
  std::vector<At> at(all.size());
  std::vector<TimeSpan> spans(all.size());
  for (double now = 0;; now += dt) {
    bool running = false;
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (at[r].begun || !std::ranges::all_of(all[r].after, [&](int p) { return at[p].ended; })) continue;
      at[r].begun = true;
      spans[r].from_us = now;
    }
    std::vector<double> pace(all.size(), 0);
    std::map<std::int64_t, double> used;
    std::vector<bool> pours(all.size(), false);
    for (std::size_t r = 0; r < all.size(); ++r) {
      running = running || !at[r].ended;
      pours[r] = at[r].begun && !at[r].ended && at[r].waited >= all[r].steps[at[r].step].latency_us;
    }
    if (!running) return spans;
    for (int drop = 0; drop < kDrops; ++drop)
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (!pours[r]) continue;
        const StepLoad& step = all[r].steps[at[r].step];
        for (const PathUse& use : step.paths)
          pours[r] = pours[r] && used[use.path] + use.us / step.sending_us / kDrops <= 1 + 1e-9;
        if (!pours[r]) continue;
        pace[r] += 1.0 / kDrops;
        for (const PathUse& use : step.paths) used[use.path] += use.us / step.sending_us / kDrops;
      }
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!at[r].begun || at[r].ended) continue;
      const StepLoad& step = all[r].steps[at[r].step];
      if (at[r].waited < step.latency_us) {
        at[r].waited += dt;
        continue;
      }
      at[r].sent += pace[r] * dt;
      if (at[r].sent < step.sending_us) continue;
      at[r].sent = at[r].waited = 0;
      if (++at[r].step < all[r].steps.size()) continue;
      at[r].step = 0;
      if (++at[r].done < all[r].times) continue;
      at[r].ended = true;
      spans[r].to_us = now + dt;
    }
  }
}

std::vector<Communication> random_job(std::mt19937& random, bool latency) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Communication> all(1 + random() % 4);
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t before = 0; before < r; ++before)
      if (below(4) == 0) all[r].after.push_back(static_cast<int>(before));
    all[r].times = 1 + below(2);
    const int steps = 1 + below(3);
    for (int s = 0; s < steps; ++s) {
      StepLoad step{.latency_us = latency ? 5.0 * below(3) : 0, .sending_us = 20.0 + below(60)};
      for (std::int64_t path = 0; path < 5; ++path)
        if (below(2)) step.paths.push_back({path, step.sending_us * (1 + below(4)) / 4});
      if (!step.paths.empty()) step.paths.front().us = step.sending_us;  // something is why it takes so long
      all[r].steps.push_back(std::move(step));
    }
  }
  return all;
}

TEST(Overlap, AgreesWithAFluid) {
  std::mt19937 random(5);
  for (int i = 0; i < 30; ++i) {
    const std::vector<Communication> all = random_job(random, true);
    const std::vector<TimeSpan> ours = side_by_side(all), fluid = poured(all, 0.25);
    const double end = end_of(ours);
    for (std::size_t r = 0; r < all.size(); ++r) {
      EXPECT_NEAR(ours[r].from_us, fluid[r].from_us, 0.03 * end + 2) << "job " << i << ", " << r;
      EXPECT_NEAR(ours[r].to_us, fluid[r].to_us, 0.03 * end + 2) << "job " << i << ", " << r;
    }
  }
}

TEST(Overlap, LiesBetweenTheLongestAndTheSum) {
  std::mt19937 random(7);
  int between = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<Communication> all = random_job(random, i % 2 == 0);
    std::vector<double> way(all.size());  // through what waits for what
    double longest = 0, sum = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
      for (int before : all[r].after) way[r] = std::max(way[r], way[before]);
      way[r] += alone_us(all[r]);
      longest = std::max(longest, way[r]);
      sum += alone_us(all[r]);
    }
    const std::vector<TimeSpan> spans = side_by_side(all);
    const double end = end_of(spans);
    EXPECT_GE(end, longest * (1 - 1e-9));
    EXPECT_LE(end, sum * (1 + 1e-9));
    between += end > longest * 1.001 && end < sum * 0.999;
    for (std::size_t r = 0; r < all.size(); ++r)
      for (int before : all[r].after) EXPECT_GE(spans[r].from_us, spans[before].to_us);
  }
  EXPECT_GT(between, 200);
}

// No path is shared: each as if alone. All keep one path busy: the sum, whoever ends first.
TEST(Overlap, AtItsExtremes) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::vector<Communication> apart = random_job(random, true), same = random_job(random, false);
    double sum = 0;
    for (std::size_t r = 0; r < apart.size(); ++r) {
      apart[r].after.clear();
      for (StepLoad& step : apart[r].steps)
        for (PathUse& use : step.paths) use.path += 100 * static_cast<std::int64_t>(r);
    }
    for (Communication& each : same) {
      each.after.clear();
      for (StepLoad& step : each.steps) step.paths = {{7, step.sending_us}};
      sum += alone_us(each);
    }
    const std::vector<TimeSpan> spans = side_by_side(apart);
    for (std::size_t r = 0; r < apart.size(); ++r) EXPECT_NEAR(spans[r].to_us, alone_us(apart[r]), 1e-6);
    EXPECT_NEAR(end_of(side_by_side(same)), sum, 1e-6 * sum);
  }
}

// Two on one path go at half pace; when one ends, the other has all of it. And who waits, waits.
TEST(Overlap, ByHand) {
  const Communication ten{.steps = {{.sending_us = 10, .paths = {{0, 10}}}}};
  Communication thirty{.steps = {{.sending_us = 30, .paths = {{0, 30}}}}};
  EXPECT_EQ(side_by_side({ten, thirty}), (std::vector<TimeSpan>{{0, 20}, {0, 40}}));
  // Half of what the first needs leaves it its own pace.
  thirty.steps[0].paths = {{0, 15}, {1, 30}};
  Communication light{.steps = {{.sending_us = 10, .paths = {{0, 5}, {2, 10}}}}};
  EXPECT_EQ(side_by_side({light, thirty}), (std::vector<TimeSpan>{{0, 10}, {0, 30}}));
  thirty.after = {0};
  EXPECT_EQ(side_by_side({ten, thirty}), (std::vector<TimeSpan>{{0, 10}, {10, 40}}));
  // A latency keeps no path busy.
  Communication late{.steps = {{.latency_us = 10, .sending_us = 10, .paths = {{0, 10}}}}};
  EXPECT_EQ(side_by_side({ten, late}), (std::vector<TimeSpan>{{0, 10}, {0, 20}}));
  EXPECT_EQ(side_by_side({{}, {.after = {0}}, ten}), (std::vector<TimeSpan>{{0, 0}, {0, 0}, {0, 10}}));
  EXPECT_TRUE(side_by_side({}).empty());
}

// More repetitions than are followed take as long all the same.
TEST(Overlap, ManyTimesAndPartsOfOne) {
  for (const double times : {0.25, 2.5, 64.0, 1000.0, 1e9}) {
    const Communication one{.steps = {{.latency_us = 1, .sending_us = 3, .paths = {{0, 3}}}}, .times = times};
    EXPECT_NEAR(side_by_side({one})[0].to_us, 4 * times, 1e-9 * times);
  }
}

}  // namespace
}  // namespace chorale
