// The flag that a search polls, by the clock and by the caller.
#include "api/timed_stop.h"

#include <gtest/gtest.h>

#include <thread>

namespace chorale {
namespace {

using std::chrono::milliseconds;

// Within a minute, however busy the machine is.
bool becomes_true(const std::atomic<bool>& flag) {
  for (int i = 0; i < 6000 && !flag; ++i) std::this_thread::sleep_for(milliseconds(10));
  return flag;
}

TEST(TimedStop, EndsASearchAtTheLimitAndNamesIt) {
  const std::atomic<bool> asked = false;
  FrontierOptions options{.time_limit = milliseconds(50), .synthesis = {.limits = {.stop = &asked}}};
  const auto start = std::chrono::steady_clock::now();
  const TimedStop stop(options);
  ASSERT_TRUE(becomes_true(*options.synthesis.limits.stop));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(50));
  EXPECT_FALSE(asked);
  Result result{.stopped = Stopped::Interrupted};
  stop.record_why(result);
  EXPECT_EQ(result.stopped, Stopped::TimeLimit);
  EXPECT_EQ(result.limits.time_ms, 50);
}

TEST(TimedStop, ObeysTheCallerBeforeTheLimit) {
  std::atomic<bool> asked = false;
  FrontierOptions options{.time_limit = std::chrono::hours(1), .synthesis = {.limits = {.stop = &asked}}};
  const TimedStop stop(options);
  EXPECT_FALSE(*options.synthesis.limits.stop);
  asked = true;
  EXPECT_TRUE(becomes_true(*options.synthesis.limits.stop));
  Result result{.stopped = Stopped::Interrupted};
  stop.record_why(result);
  EXPECT_EQ(result.stopped, Stopped::Interrupted);
}

TEST(TimedStop, LeavesTheFlagOfASearchWithoutLimit) {
  const std::atomic<bool> asked = false;
  FrontierOptions options{.time_limit = milliseconds(-1), .synthesis = {.limits = {.stop = &asked}}};
  const TimedStop stop(options);
  EXPECT_EQ(options.synthesis.limits.stop, &asked);
}

}  // namespace
}  // namespace chorale
