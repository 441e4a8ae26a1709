
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/error.h"
#include "placement/place.h"

namespace chorale {
namespace {

Hierarchy two_levels(int nodes, int gpus) {
  return {.name = "two",
          .levels = {{"node", nodes, {.bandwidth_gbs = 10, .latency_us = 5}},
                     {"gpu", gpus, {.bandwidth_gbs = 100, .latency_us = 1}}},
          .node_level = 1};
}

JobTemplate random_template(unsigned seed) {
  const auto number = [&] { return 1 + (seed = seed * 1103515245u + 12345u) / 65536 % 50; };
  const std::string text = fmt::format(
      R"_({{"job_template": "t", "axes": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "c"}}],
            "memory_bytes": "{} / b + 3 * c", "room_bytes": 40, "compute_us": "{} * (a + c)",
            "reductions": [{{"axes": ["a"], "bytes": "{} * 1000000 / b"}},
                           {{"axes": ["b", "c"], "bytes": 1000000, "times": "a"}}]}})_",
      number(), number(), number());
  return job_template_from_json(text, "random");
}

// Whatever sizes there are, tried one by one here.
TEST(AxisSizes, NoneIsBetterThanTheFirst) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Hierarchy machine = two_levels(1 + static_cast<int>(seed) % 3, 4);
    const JobTemplate job = random_template(seed);
    std::vector<double> all;
    int products = 0;
    for (int a = 1; a <= 12; ++a)
      for (int b = 1; b <= 12; ++b)
        for (int c = 1; c <= 12; ++c) {
          if (a * b * c != devices(machine)) continue;
          ++products;
          const SizedJob one = sized(job, {a, b, c});
          if (one.unfit.empty())
            all.push_back(one.compute_us + rank_placements(machine, one.job, {.top = 1}).best.front().us);
        }
    std::ranges::sort(all);
    if (all.empty()) {
      EXPECT_THROW(rank_sizes(machine, job, {}), InputError);
      continue;
    }
    const Ranking found = rank_sizes(machine, job, {.top = 1000});
    EXPECT_EQ(found.size_choices,
              (SizeChoices{products, static_cast<int>(all.size()), static_cast<int>(all.size())}));
    std::vector<double> told;
    for (const RankedSizes& each : found.sizes) told.push_back(each.us());
    EXPECT_THAT(told, testing::Pointwise(testing::DoubleNear(1e-6), all)) << seed;
    for (std::size_t i = 0; i < found.job.axes.size(); ++i)
      EXPECT_EQ(found.job.axes[i].size, found.sizes.front().sizes[i]);
    EXPECT_DOUBLE_EQ(found.best.front().us, found.sizes.front().communication_us);
  }
}

TEST(AxisSizes, KeepsWhatIsFixedAndWhatConditionsForbid) {
  JobTemplate job = random_template(3);
  job.room_bytes = 0;
  job.axes[1].size = 2;
  for (const RankedSizes& each : rank_sizes(two_levels(3, 4), job, {.top = 1000}).sizes)
    EXPECT_EQ(each.sizes[1], 2);
  // The second axis stays inside of a node, so it is 4 at most.
  job.axes[1].size = 0;
  const Ranking inside = rank_sizes(two_levels(3, 4), job, {.top = 1000, .conditions = {.inside = {{1, 1}}}});
  for (const RankedSizes& each : inside.sizes) EXPECT_LE(each.sizes[1], 4);
  EXPECT_LT(inside.size_choices.fit, inside.size_choices.all);
  job.axes[1].size = 5;
  EXPECT_THROW(rank_sizes(two_levels(3, 4), job, {}), InputError);
}

TEST(AxisSizes, StoppedItHasWhatWasPlaced) {
  JobTemplate job = random_template(3);
  job.room_bytes = 0;
  int asked = 0;
  const Ranking some = rank_sizes(two_levels(3, 4), job, {.progress = [&](int done, int) {
                                    ++asked;
                                    return done < 2;
                                  }});
  EXPECT_EQ(some.size_choices.priced, 2);
  EXPECT_EQ(some.sizes.size(), 2u);
  const Ranking none = rank_sizes(two_levels(3, 4), job, {.progress = [](int, int) { return false; }});
  EXPECT_EQ(none.size_choices.priced, 0);
  EXPECT_TRUE(none.best.empty());
}

}  // namespace
}  // namespace chorale
