#include "workload/infer.h"

#include <gtest/gtest.h>

namespace chorale::test {
namespace {

using enum ElementType;

TEST(Promotion, IsThatOfPyTorch) {
  EXPECT_EQ(promoted(Int32, Float16), Float16);
  EXPECT_EQ(promoted(Float16, Bfloat16), Float32);
  EXPECT_EQ(promoted(Float16, Float32), Float32);
  EXPECT_EQ(promoted(Bfloat16, Float64), Float64);
  EXPECT_EQ(promoted(Int32, Int32), Int32);
}

}  // namespace
}  // namespace chorale::test
