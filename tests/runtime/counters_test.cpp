// Waits for counters, with a limit and without.
#include "runtime/device/counters.h"

#include <gtest/gtest.h>

#include <thread>

namespace chorale {
namespace {

// Raised after 20 ms, which is some hundred times as long as the first read of the clock takes to come.
bool arrives(std::uint64_t nanoseconds, Trouble& trouble) {
  std::uint64_t counter = 0;
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    store_release(&counter, 1);
  });
  const Patience patience{.nanoseconds = nanoseconds, .trouble = &trouble};
  const bool arrived = wait_for([&] { return load_acquire(&counter); }, 1, patience, 2, 3, 4);
  late.join();
  return arrived;
}

TEST(Waits, EndInTimeOrNameThemselves) {
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{60'000'000'000}}) {
    Trouble none;
    EXPECT_TRUE(arrives(limit, none)) << limit;
    EXPECT_EQ(none.state, 0U) << limit;
  }
  Trouble trouble;
  EXPECT_FALSE(arrives(1, trouble));
  EXPECT_EQ(trouble.state, 2U);
  EXPECT_EQ(trouble.block, 2);
  EXPECT_EQ(trouble.slice, 3);
  EXPECT_EQ(trouble.row, 4);
}

}  // namespace
}  // namespace chorale
