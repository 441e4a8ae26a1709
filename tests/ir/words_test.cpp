#include "ir/words.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(Words, BytesHaveThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(100), "100 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1023.9), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(96 * 1024), "96 KiB");
  EXPECT_EQ(format_bytes(117.4 * 1024), "117 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1 MiB");
  EXPECT_EQ(format_bytes(1e9), "954 MiB");
  EXPECT_EQ(format_bytes(5e15), "4547 TiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<double>::infinity()), "unlimited");
}

TEST(Words, TimesHaveThreeDigits) {
  EXPECT_EQ(format_us(0.04), "0.04 us");
  EXPECT_EQ(format_us(13), "13 us");
  EXPECT_EQ(format_us(999.9), "1 ms");
  EXPECT_EQ(format_us(2.5e6), "2.5 s");
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
