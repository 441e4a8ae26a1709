#include "ir/machine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace chorale {
namespace {

const Topology kPair = {.name = "pair", .ranks = 2, .links = {{0, 1}, {1, 0}}};
std::atomic<int> asked = 0;

int links_of(const Topology& topology) {
  ++asked;
  return static_cast<int>(topology.links.size());
}
int ranks_of(const Topology& topology) {
  return topology.ranks;
}

// Both functions have one type, so the type alone would give the answer of one for the other.
TEST(Machine, FindsEachFactOnceForAllCopies) {
  asked = 0;
  const Machine machine(kPair), copy = machine;
  EXPECT_EQ(&machine.once(links_of), &copy.once(links_of));
  EXPECT_EQ(copy.once(links_of), 2);
  EXPECT_EQ(machine.once(ranks_of), 2);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Machine(kPair).once(links_of), 2);  // another machine, though an equal one
  EXPECT_EQ(asked, 2);
}

TEST(Machine, ThreadsGetOneValue) {
  const Machine machine(kPair);
  std::vector<const int*> found(8);
  {
    std::vector<std::jthread> threads;
    for (const int*& each : found) threads.emplace_back([&] { each = &machine.once(links_of); });
  }
  for (const int* each : found) EXPECT_EQ(each, found.front());
}

TEST(Machine, HasNoSwitchesAsSchedulesSeeIt) {
  const Topology hub = {.name = "hub", .ranks = 2, .switches = 1, .links = {{0, 2}, {2, 0}, {1, 2}, {2, 1}}};
  EXPECT_THROW(Machine{hub}, std::logic_error);
  const Machine machine(hub, kPair);
  EXPECT_EQ(machine.described(), hub);
  EXPECT_EQ(machine.topology(), kPair);
}

}  // namespace
}  // namespace chorale
