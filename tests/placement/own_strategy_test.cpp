#include <gmock/gmock.h>

#include "placement/place.h"
#include "placement/reduction_price.h"

namespace chorale {
namespace {

using testing::HasSubstr;

const Hierarchy kMachine = {.name = "m",
                            .levels = {{"rack", 2, {.bandwidth_gbs = 5, .latency_us = 9}},
                                       {"node", 2, {.bandwidth_gbs = 10, .latency_us = 5}},
                                       {"gpu", 4, {.bandwidth_gbs = 100, .latency_us = 1}}},
                            .node_level = 2};
const Job kJob = {.axes = {{"a", 16}}, .reductions = {{.name = "g", .axes = {0}, .bytes = 1e6}}};
const ParallelismMatrix kMatrix = {{{2, 2, 4}}};

OwnStrategy of(const std::string& text) {
  return evaluated(kMachine, kJob, 0, kMatrix, Algorithm::Auto, parse_strategy(text, "test"));
}

// Every strategy that is found, written out and read again, is one, and takes as long as it was reported to.
TEST(OwnStrategy, HasThePriceOfTheSameOneThatIsFound) {
  const ReductionRanking found = rank_strategies(kMachine, kJob, 0, kMatrix, {.strategies = 200});
  ASSERT_EQ(found.strategies.size(), 200U);
  for (const RankedStrategy& each : found.strategies) {
    const std::string text = to_text(each.strategy(), found.levels);
    const OwnStrategy own = of(text);
    EXPECT_EQ(own.fault, "") << text;
    EXPECT_NEAR(own.priced.us, each.us, 1e-9 * each.us) << text;
  }
}

TEST(OwnStrategy, MayCallGroupsByAnotherName) {
  // Devices that differ below the root in all ways are those inside of it.
  EXPECT_DOUBLE_EQ(of("(gpu, Parallel(root), AllReduce); ").priced.us,
                   of("(root, InsideGroup, AllReduce)").priced.us);
}

TEST(OwnStrategy, IsRefusedWithItsReason) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"(socket, InsideGroup, AllReduce)", "no level socket here, but root, rack, node, gpu"},
           {"(node, Parallel(node), AllReduce)", "is not outside of"},
           {"(node, InsideGroup, AllReduce)", ""},
           {"(root, InsideGroup, AllReduce); (root, InsideGroup, AllReduce)", ""},
           {"(root, InsideGroup, AllGather)", ""}}) {
    const OwnStrategy own = of(text);
    EXPECT_NE(own.fault, "") << text;
    EXPECT_THAT(own.fault, HasSubstr(words)) << text;
    EXPECT_TRUE(own.priced.instructions.empty()) << text;
  }
}

}  // namespace
}  // namespace chorale
