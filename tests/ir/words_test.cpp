#include "ir/words.h"

#include <gtest/gtest.h>

namespace chorale {
namespace {

TEST(Words, OneIsNotMany) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(2, "matrix", "matrices"), "2 matrices");
}

TEST(Words, AreJoined) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({"a", "b"}, "|"), "a|b");
}

TEST(Words, WhatWasMeantIsNear) {
  const std::vector<std::string> known = {"ring", "torus", "hypercube"};
  const auto meant = [&](const std::string& given) { return did_you_mean(given, known, "no"); };
  EXPECT_EQ(meant("rnig"), "did you mean 'ring'?");
  EXPECT_EQ(meant("toru"), "did you mean 'torus'?");
  EXPECT_EQ(meant("hyper"), "did you mean 'hypercube'?");  // its beginning, though far
  EXPECT_EQ(meant("tree"), "no");
  EXPECT_EQ(meant(""), "no");
  EXPECT_EQ(meant("r"), "no");
  EXPECT_EQ(meant(std::string(100'000, 'r')), "no");  // at once
}

}  // namespace
}  // namespace chorale
