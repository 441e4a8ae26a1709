// Sizes in bytes as people write them.
#include "ir/byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

namespace chorale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ByteSize, UnitsArePowersOf1024InEverySpelling) {
  for (const char* text : {"1k", "1K", "1Ki", "1ki", "1KB", "1kB", "1kb", "1KiB", "1024", "1024B", "1.024e3"})
    EXPECT_EQ(parse_size("--size", text), 1024) << text;
  for (const char* text : {"1m", "1MiB", "1024K", "0.0009765625G"})
    EXPECT_EQ(parse_size("--size", text), 1 << 20) << text;
  for (const char* text : {"1Gi", "1GB", "1g"}) EXPECT_EQ(parse_size("--size", text), 1 << 30) << text;
  EXPECT_EQ(parse_size("--size", "1T"), std::int64_t{1} << 40);
}

// Decimal sizes are written with an exponent.
TEST(ByteSize, AnExponentIsDecimal) {
  EXPECT_EQ(parse_size("--size", "1e6"), 1'000'000);
  EXPECT_EQ(parse_size("--size", "2.5E3"), 2'500);
  EXPECT_EQ(parse_size("--size", "0"), 0);
  EXPECT_EQ(parse_size("--size", "1.5M"), 3 << 19);
}

TEST(ByteSize, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "K", "1X", "1KK", "1iB", "1Kx", "-1", "+1", " 1", "0.1K", "1.5", "2T", "1e13",
                           "inf", "nan", "0x10", "1e", "1 K"})
    EXPECT_THAT([&] { parse_size("--size", text); },
                ThrowsMessage<InputError>(HasSubstr("'" + std::string(text) + "' is not a size")))
        << text;
}

TEST(ByteSize, ListsAndRanges) {
  EXPECT_THAT(parse_sizes("--sizes", "1K,3000,1Mi"), ElementsAre(1024, 3000, 1 << 20));
  EXPECT_THAT(parse_sizes("--sizes", "1k:4K"), ElementsAre(1024, 2048, 4096));
  EXPECT_THAT(parse_sizes("--sizes", "1:1e3:10"), ElementsAre(1, 10, 100, 1000));
  for (const char* text : {"1K:4K:1", "0:4K", "4K:1K", "1:2:3:4", "1K:4K:x", "1,,2"})
    EXPECT_THROW(parse_sizes("--sizes", text), InputError) << text;
}

}  // namespace
}  // namespace chorale
