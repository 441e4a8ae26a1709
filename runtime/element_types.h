// The C++ types of elements, and what one reduction of two of them is. For the files of this room that touch
// data.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/elements.h"

namespace chorale {

// Half-precision numbers as bits; arithmetic is done in float32, and each result rounded to nearest, ties to
// even.
template <int exponent_bits, int mantissa_bits>
struct HalfNumber {
  std::uint16_t bits = 0;

  HalfNumber() = default;
  explicit HalfNumber(float value) : bits(rounded(value)) {}
  explicit operator float() const {
    constexpr int bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31;
    const int exponent = bits >> mantissa_bits & most;
    const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    if (exponent == most) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << (23 - mantissa_bits));
    if (exponent == 0) {  // subnormal: mantissa * 2^(1 - bias - mantissa_bits)
      const float scale =
          std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - bias - mantissa_bits + 24) << 23);
      const float value = static_cast<float>(mantissa) * scale * 5.9604644775390625e-08f;  // 2^-24
      return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent - bias + 127) << 23 |
                                mantissa << (23 - mantissa_bits));
  }
  bool operator==(const HalfNumber& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }

 private:
  static std::uint16_t rounded(float value) {
    constexpr int bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1,
                  cut = 23 - mantissa_bits;
    const std::uint32_t raw = std::bit_cast<std::uint32_t>(value);
    const std::uint16_t sign = static_cast<std::uint16_t>(raw >> 16 & 0x8000u);
    const std::uint32_t infinity = static_cast<std::uint32_t>(most) << mantissa_bits;
    if ((raw & 0x7fffffffu) > 0x7f800000u)
      return static_cast<std::uint16_t>(sign | infinity | 1u << (mantissa_bits - 1));
    const int field = static_cast<int>(raw >> 23 & 0xff);
    const int exponent = std::max(field, 1) - 127 + bias;
    const std::uint32_t mantissa = (raw & 0x7fffffu) | (field > 0 ? 0x800000u : 0);
    if (exponent >= most) return static_cast<std::uint16_t>(sign | infinity);
    int shift = cut;
    std::uint32_t high = static_cast<std::uint32_t>(std::max(exponent, 1) - 1)
                         << mantissa_bits;  // the leading bit adds one
    if (exponent < 1) shift = std::min(cut + 1 - exponent, 31);
    const std::uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1),
                        half = 1u << (shift - 1);
    high += kept + (lost > half || (lost == half && (kept & 1)) ? 1 : 0);
    return static_cast<std::uint16_t>(sign | std::min(high, infinity));
  }
};

using Float16 = HalfNumber<5, 10>;
using Bfloat16 = HalfNumber<8, 7>;

template <typename T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// Calls function with a value of the C++ type.
template <typename Function>
auto with_type(ElementType type, Function function) {
  switch (type) {
    case ElementType::Float32:
      return function(float{});
    case ElementType::Float64:
      return function(double{});
    case ElementType::Int32:
      return function(std::int32_t{});
    case ElementType::Int64:
      return function(std::int64_t{});
    case ElementType::Int8:
      return function(std::int8_t{});
    case ElementType::Uint8:
      return function(std::uint8_t{});
    case ElementType::Uint32:
      return function(std::uint32_t{});
    case ElementType::Uint64:
      return function(std::uint64_t{});
    case ElementType::Float16:
      return function(Float16{});
    case ElementType::Bfloat16:
      return function(Bfloat16{});
  }
  return function(float{});
}

// a (+) b; integers wrap around. An average is a sum that `averaged` finishes.
template <ReduceOp op, typename T>
T combined(T a, T b) {
  if constexpr (is_half<T>) {
    return T(combined<op>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (op == ReduceOp::Max) {
    return std::max(a, b);
  } else if constexpr (op == ReduceOp::Min) {
    return std::min(a, b);
  } else if constexpr (std::is_integral_v<T>) {
    using Wide =
        std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // unsigned: overflow is defined
    const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(op == ReduceOp::Prod ? x * y : x + y);
  } else {
    return op == ReduceOp::Prod ? a * b : a + b;
  }
}

template <typename T>
T averaged(T sum, int count) {
  if constexpr (is_half<T>)
    return T(static_cast<float>(sum) / static_cast<float>(count));
  else
    return static_cast<T>(sum / static_cast<T>(count));
}

// Calls function.template operator()<op>().
template <typename Function>
auto with_op(ReduceOp op, Function function) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg:
      return function.template operator()<ReduceOp::Sum>();
    case ReduceOp::Max:
      return function.template operator()<ReduceOp::Max>();
    case ReduceOp::Min:
      return function.template operator()<ReduceOp::Min>();
    case ReduceOp::Prod:
      return function.template operator()<ReduceOp::Prod>();
  }
  return function.template operator()<ReduceOp::Sum>();
}

}  // namespace chorale
