// Waits for counters, with a limit and without.
#include "runtime/device/counters.h"

#include <gtest/gtest.h>

#include <thread>

namespace chorale {
namespace {

bool arrives(const std::uint64_t& counter, std::uint64_t nanoseconds, Trouble& trouble) {
  const Patience patience{.nanoseconds = nanoseconds, .trouble = &trouble};
  return wait_for([&] { return load_acquire(&counter); }, 1, patience, 2, 3, 4);
}

TEST(Waits, EndInTimeOrNameThemselves) {
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{60'000'000'000}}) {
    Trouble none;
    std::uint64_t counter = 0;
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      store_release(&counter, 1);
    });
    EXPECT_TRUE(arrives(counter, limit, none)) << limit;
    late.join();
    EXPECT_EQ(none.state, 0U) << limit;
  }
  // Nothing raises it: on a busy machine a thread that does so later comes before the
  // first read of the clock.
  const std::uint64_t counter = 0;
  Trouble trouble;
  EXPECT_FALSE(arrives(counter, 1, trouble));
  EXPECT_EQ(trouble.state, 2U);
  EXPECT_EQ(trouble.block, 2);
  EXPECT_EQ(trouble.slice, 3);
  EXPECT_EQ(trouble.row, 4);
}

}  // namespace
}  // namespace chorale
