// tests/property compares what the published encodings say with ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoder/published_encodings.h"

namespace chorale {
namespace {

TEST(PartitionEncoding, SplitsAreAllCompositions) {
  std::vector<int> split = {1, 1, 3};
  std::vector<std::vector<int>> all = {split};
  while (next_partition(split)) all.push_back(split);
  // Five into three positive parts: choose 2 of 4 gaps, in lexicographic order.
  EXPECT_THAT(all, testing::ElementsAre(std::vector{1, 1, 3}, std::vector{1, 2, 2}, std::vector{1, 3, 1},
                                        std::vector{2, 1, 2}, std::vector{2, 2, 1}, std::vector{3, 1, 1}));
}

}  // namespace
}  // namespace chorale
