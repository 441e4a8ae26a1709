// Floats of 8 bits as the OCP defines them (8-bit floating point, revision 1.0, table 1 and section 5): a
// table of all codes made from the definition, and of a number the nearest entry, searched for one by one.
// Against the bits that programs make, and the numbers of the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/device/elements.h"
#include "tests/tensor/meaning.h"

namespace chorale::test {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  double largest;
};
constexpr Format kE4m3{4, 3, false, 448}, kE5m2{5, 2, true, 57344};

double defined_value(int code, const Format& f) {
  const int exponent = (code & 0x7f) >> f.mantissa_bits, fraction = code & ((1 << f.mantissa_bits) - 1),
            bias = (1 << (f.exponent_bits - 1)) - 1, top = (1 << f.exponent_bits) - 1;
  const double sign = code < 128 ? 1 : -1, part = fraction * std::pow(2.0, -f.mantissa_bits);
  if (exponent == top && f.has_infinity)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if ((code & 0x7f) == 0x7f) return std::nan("");
  return exponent == 0 ? sign * part * std::pow(2.0, 1 - bias)
                       : sign * (1 + part) * std::pow(2.0, exponent - bias);
}

// The code of the nearest number, the even one of two; saturated.
int nearest_code(double value, const Format& f) {
  if (std::isnan(value)) return 0x7f;
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  const double size = std::min(std::abs(value), f.largest);
  for (int code = 0; code < 0x7f; ++code) {
    const double apart = std::abs(defined_value(code, f) - size);
    if (!(apart < least || (apart == least && code % 2 == 0))) continue;
    best = code;
    least = apart;
  }
  return best + (std::signbit(value) ? 128 : 0);
}

// All codes, what lies half-way between two, and next to all of these; what is too large or too small; any
// bits.
std::vector<float> numbers(const Format& f) {
  std::vector<float> result;
  const auto with_neighbours = [&](double value) {
    const float x = static_cast<float>(value);
    for (const float each : {x, std::nextafterf(x, 1e30f), std::nextafterf(x, -1e30f)})
      result.insert(result.end(), {each, -each});
  };
  for (int code = 0; code < 0x7f; ++code) {
    const double here = defined_value(code, f), next = defined_value(code + 1, f);
    with_neighbours(here);
    with_neighbours((here + next) / 2);
  }
  for (const double value :
       {f.largest * 1.03, f.largest * 1.0625, f.largest * 1.125, 1e6, 1e38, 1e-6, 1e-20, 1e-44})
    with_neighbours(value);
  result.insert(result.end(), {INFINITY, -INFINITY, NAN, 0.0f, -0.0f});
  std::mt19937 random(7);
  for (int k = 0; k < 20000; ++k) result.push_back(float_of_bits(static_cast<std::uint32_t>(random())));
  return result;
}

template <typename T>
void check(const Format& f, ElementType type) {
  for (int code = 0; code < 256; ++code) {
    T x{};
    x.bits = static_cast<std::uint8_t>(code);
    EXPECT_TRUE(same_number(static_cast<float>(x), defined_value(code, f))) << code;
    EXPECT_EQ(std::signbit(static_cast<float>(x)), code >= 128) << code;
  }
  for (const float value : numbers(f)) {
    const T have(value);
    const double number = rounded(type, value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(have)) && std::isnan(number));
      continue;
    }
    const int code = nearest_code(value, f);
    ASSERT_EQ(have.bits, code) << value;
    ASSERT_EQ(number, defined_value(code, f)) << value;
    ASSERT_EQ(std::signbit(number), code >= 128) << value;
  }
}

TEST(ShortFloats, AreThoseOfTheTable) {
  check<Float8E4m3>(kE4m3, ElementType::Float8E4m3);
  check<Float8E5m2>(kE5m2, ElementType::Float8E5m2);
}

// Steps of the specification, by name.
TEST(ShortFloats, HaveTheLimitsOfTheSpecification) {
  EXPECT_EQ(Float8E4m3(1e9f).bits, 0x7e);
  EXPECT_EQ(Float8E4m3(-INFINITY).bits, 0xfe);
  EXPECT_EQ(static_cast<float>(Float8E4m3(464.0f)), 448);
  EXPECT_EQ(static_cast<float>(Float8E4m3(std::ldexp(1.0f, -9))), std::ldexp(1.0f, -9));
  EXPECT_EQ(Float8E4m3(std::ldexp(1.0f, -10)).bits, 0);  // a tie, to the even one
  EXPECT_EQ(Float8E5m2(INFINITY).bits, 0x7b);
  EXPECT_EQ(static_cast<float>(Float8E5m2(-1e9f)), -57344);
  EXPECT_EQ(static_cast<float>(Float8E5m2(std::ldexp(1.0f, -16))), std::ldexp(1.0f, -16));
}

}  // namespace
}  // namespace chorale::test
