// The table of 'chorale optimize' only improves: whoever asks while the search goes on gets no time that the
// end does not keep.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "jobs/chorale.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

// Links of random latencies, so that what is dominated in steps and rounds may be faster.
Topology uneven(std::mt19937& random) {
  Topology machine = test::random_machine(random, {.least_ranks = 3, .most_ranks = 6, .most_limits = 1});
  for (Link& link : machine.links) link.alpha_us = test::between(random, 1, 20) / 4.0;
  return machine;
}

TEST(Optimize, NoTimeIsEverTakenBack) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int asked = 0;
  for (const char* const collective : {"allreduce", "allgather", "alltoall", "broadcast", "reducescatter"}) {
    const Topology machine = uneven(random);
    std::map<std::int64_t, double> least;
    std::function<Optimized()> found;
    std::mutex mutex;
    const auto look = [&] {
      const std::lock_guard lock(mutex);
      if (!found) return;
      ++asked;
      for (const OptimizedRow& row : found().rows) {
        const auto [at, is_new] = least.try_emplace(row.message_bytes, row.us);
        EXPECT_LE(row.us, at->second * (1 + 1e-9));
        at->second = row.us;
      }
    };
    OptimizeQuestion question{.message_bytes = {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 28}};
    question.search.max_chunks = test::between(random, 1, 6);
    question.search.synthesis.limits.conflicts = 200;
    question.search.progress = [&](const Progress&) { look(); };
    question.publish = [&](const std::function<Optimized()>& publish) {
      const std::lock_guard lock(mutex);
      found = publish;
    };
    const Optimized best = optimize(machine, make_collective(collective, machine.ranks, 1), question);
    std::map<std::int64_t, double> final;
    for (const OptimizedRow& row : best.rows) {
      final[row.message_bytes] = row.us;
      EXPECT_GE(row.us, row.bound_us * (1 - 1e-9));
      EXPECT_EQ(best.result.points[row.point].cost.steps, row.steps);
    }
    for (const auto& [bytes, us] : least) {
      ASSERT_TRUE(final.contains(bytes)) << collective << " " << bytes;
      EXPECT_LE(final[bytes], us * (1 + 1e-9)) << collective << " " << bytes;
    }
  }
  EXPECT_GT(asked, 0);
}

// Only sizes at which both have a time are in the sentence.
TEST(Compare, ConclusionsNameSizesThatBothHave) {
  const SideAtSize none, one{.us = 1}, two{.us = 2}, three{.us = 3};
  Comparison comparison{.sizes = {{.collective = "allreduce",
                                   .rows = {{1 << 10, {one, none}},
                                            {2 << 10, {two, one}},
                                            {4 << 10, {three, one}},
                                            {8 << 10, {none, one}}}}}};
  comparison.sides[0].name = "old";
  comparison.sides[1].name = "new";
  EXPECT_EQ(
      conclusions(comparison),
      std::vector<std::string>{"allreduce: new is 2.00x to 3.00x as fast as old, from 2 KiB to 4 KiB, by "
                               "the schedules found, not all proven"});
  // Where both meet their bounds, machines are compared; results have no schedules but their own.
  Comparison proven = comparison;
  for (ComparedSize& row : proven.sizes[0].rows)
    for (SideAtSize& side : row.sides) side.bound_us = side.us;
  comparison.of_results = true;
  for (const Comparison& each : {proven, comparison})
    EXPECT_EQ(conclusions(each), std::vector<std::string>{
                                     "allreduce: new is 2.00x to 3.00x as fast as old, from 2 KiB to 4 KiB"});
}

}  // namespace
}  // namespace chorale
