// Arithmetic on elements, for hosts and for device code: one place, so that a kernel and the threads of a
// host give the same bits. C++17, and is copied into emitted programs.
//
// Floats of 16 and 8 bits are bits here. Arithmetic on them is done in float32, and each result rounded to
// nearest, ties to even; device code converts those of 16 bits by its instructions, hosts, and those of 8
// bits, by the same rules in integers (only the bits of a NaN may differ).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "ir/pieces.h"

namespace chorale {

// What two elements are made one by. An average is a sum that `averaged` finishes.
enum class Combination { Sum, Max, Min, Prod };

// C++17 has no std::bit_cast.
CHORALE_DEVICE inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

CHORALE_DEVICE inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The bits that either has. Loops over it become vectors.
template <typename T>
CHORALE_DEVICE inline T bits_of_both(T a, T b) {
  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t> x, y;
  static_assert(sizeof x == sizeof a);
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  x |= y;
  std::memcpy(&a, &x, sizeof a);
  return a;
}

// Of 16 bits as IEEE 754 has it; of 8 bits as OCP has it: e5m2 has infinities and NaNs in IEEE's places, e4m3
// one NaN of each sign, of ones alone, and no infinity. Both are saturated: what is too large, and an
// infinity, becomes the largest number. A trivial type, so that it may lie in shared memory; ShortFloat{} is
// zero.
template <int exponent_bits, int mantissa_bits>
struct ShortFloat {
  static constexpr int kBits = 1 + exponent_bits + mantissa_bits;
  using Bits = std::conditional_t<kBits == 8, std::uint8_t, std::uint16_t>;
  Bits bits;

  ShortFloat() = default;
  CHORALE_DEVICE explicit ShortFloat(float value) : bits(rounded(value)) {}
  CHORALE_DEVICE explicit operator float() const {
#ifdef __CUDA_ARCH__
    if constexpr (mantissa_bits == 10)
      return __half2float(__ushort_as_half(bits));
    else if constexpr (mantissa_bits == 7)
      return __bfloat162float(__ushort_as_bfloat16(bits));
    else
#endif
      return value_of_bits();
  }
  CHORALE_DEVICE bool operator==(const ShortFloat& other) const {
    return static_cast<float>(*this) == static_cast<float>(other);
  }

 private:
  CHORALE_DEVICE float value_of_bits() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits >> (kBits - 1)) << 31;
    const int exponent = bits >> mantissa_bits & kMost;
    const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    if (exponent == kMost && (!kNoInfinity || mantissa == kOnes))
      return float_of_bits(sign | 0x7f800000u | mantissa << (23 - mantissa_bits));
    // The scale of bfloat16, 2^-133, is not a normal float and cannot be written as an exponent; 2^24 times
    // as much can. Both products are exact.
    if (exponent == 0) {  // subnormal: mantissa * 2^(1 - bias - mantissa_bits)
      const float scale =
          float_of_bits(static_cast<std::uint32_t>(127 + 1 - kBias - mantissa_bits + 24) << 23);
      const float value = static_cast<float>(mantissa) * scale * 5.9604644775390625e-08f;  // 2^-24
      return sign ? -value : value;
    }
    return float_of_bits(sign | static_cast<std::uint32_t>(exponent - kBias + 127) << 23 |
                         mantissa << (23 - mantissa_bits));
  }

  static constexpr bool kNoInfinity = kBits == 8 && exponent_bits == 4;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1, kMost = (1 << exponent_bits) - 1;
  static constexpr std::uint32_t kOnes = (1u << mantissa_bits) - 1,  // ones in all of the mantissa
      kInfinity = static_cast<std::uint32_t>(kMost) << mantissa_bits,
                                 kNan =
                                     kNoInfinity ? kInfinity | kOnes : kInfinity | 1u << (mantissa_bits - 1),
                                 // What is too large becomes this.
      kLimit = kNoInfinity  ? kNan - 1
               : kBits == 8 ? kInfinity - 1
                            : kInfinity;

  CHORALE_DEVICE static Bits rounded(float value) {
#ifdef __CUDA_ARCH__
    if constexpr (mantissa_bits == 10)
      return __half_as_ushort(__float2half_rn(value));
    else if constexpr (mantissa_bits == 7)
      return __bfloat16_as_ushort(__float2bfloat16_rn(value));
    else
#endif
      return rounded_bits(value);
  }
  CHORALE_DEVICE static Bits rounded_bits(float value) {
    constexpr int cut = 23 - mantissa_bits;
    const std::uint32_t raw = bits_of_float(value);
    const std::uint32_t sign = raw >> 31 << (kBits - 1);
    if ((raw & 0x7fffffffu) > 0x7f800000u) return static_cast<Bits>(sign | kNan);
    const int field = static_cast<int>(raw >> 23 & 0xff);
    // The exponent in the short float's own bias. A mantissa with its leading bit is shifted to its; an
    // exponent below 1 shifts further, to a subnormal one. The leading bit, where it is left, adds one to the
    // exponent's field, and so does a carry out of the mantissa: rounding up to the next power of two, and to
    // infinity, are not special cases.
    const int exponent = (field > 1 ? field : 1) - 127 + kBias;
    const std::uint32_t mantissa = (raw & 0x7fffffu) | (field > 0 ? 0x800000u : 0);
    if (exponent > kMost) return static_cast<Bits>(sign | kLimit);
    int shift = cut;
    std::uint32_t high = static_cast<std::uint32_t>(exponent > 1 ? exponent - 1 : 0)
                         << mantissa_bits;  // the leading bit adds one
    if (exponent < 1) shift = cut + 1 - exponent < 31 ? cut + 1 - exponent : 31;
    const std::uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1),
                        half = 1u << (shift - 1);
    high += kept + (lost > half || (lost == half && (kept & 1)) ? 1 : 0);
    return static_cast<Bits>(sign | (high < kLimit ? high : kLimit));
  }
};

using Float16 = ShortFloat<5, 10>;
using Bfloat16 = ShortFloat<8, 7>;
using Float8E4m3 = ShortFloat<4, 3>;
using Float8E5m2 = ShortFloat<5, 2>;

template <typename T>
inline constexpr bool is_short = false;
template <int exponent_bits, int mantissa_bits>
inline constexpr bool is_short<ShortFloat<exponent_bits, mantissa_bits>> = true;

// What sums of it are made in that round once.
template <typename T>
CHORALE_DEVICE auto wide_value(T value) {
  if constexpr (is_short<T>)
    return static_cast<float>(value);
  else
    return value;
}

// a (+) b; integers wrap around. Maximum and minimum have the same bits as of (b, a), since ranks that add in
// another order have to agree: both selections differ only where the operands are zeros, of which the result
// is -0, or one is a NaN, and then so is the result. One selection alone gives its first operand there. In
// memory the second one costs nothing; a canonical NaN, of a comparison more, took three times as long in
// cache.
template <Combination op, typename T>
CHORALE_DEVICE T combined(T a, T b) {
  if constexpr (is_short<T>) {
    return T(combined<op>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (op == Combination::Max || op == Combination::Min) {
    const T x = op == Combination::Max ? (a < b ? b : a) : (b < a ? b : a);
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return bits_of_both(x, op == Combination::Max ? (b < a ? a : b) : (a < b ? a : b));
  } else if constexpr (std::is_integral_v<T>) {
    static_assert(op == Combination::Sum || op == Combination::Prod);
    using Wide =
        std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // unsigned: overflow is defined
    const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(op == Combination::Prod ? x * y : x + y);
  } else {
    return op == Combination::Prod ? a * b : a + b;
  }
}

// (+) as an object. Of an operation that is known when it is compiled:
template <Combination op>
struct Always {
  static constexpr Combination kOp = op;
  template <typename T, int count>
  CHORALE_DEVICE void operator()(T (&a)[count], const T (&b)[count]) const {
    for (int e = 0; e < count; ++e) a[e] = combined<op>(a[e], b[e]);
  }
};
// Calls function with the object of that operation.
template <typename Function>
CHORALE_DEVICE void with_combination(Combination op, Function function) {
  switch (op) {
    case Combination::Sum:
      return function(Always<Combination::Sum>());
    case Combination::Max:
      return function(Always<Combination::Max>());
    case Combination::Min:
      return function(Always<Combination::Min>());
    case Combination::Prod:
      return function(Always<Combination::Prod>());
  }
}
// Of one that is known when it runs: a test for an array, not for each element.
struct Given {
  Combination op = Combination::Sum;
  template <typename T, int count>
  CHORALE_DEVICE void operator()(T (&a)[count], const T (&b)[count]) const {
    with_combination(op, [&](auto always) { always(a, b); });
  }
};

// sum / count; integers are truncated.
template <typename T>
CHORALE_DEVICE T averaged(T sum, int count) {
  if constexpr (is_short<T>) {
    return T(static_cast<float>(sum) / static_cast<float>(count));
  } else if constexpr (std::is_integral_v<T>) {
    // Not in T, which may be too small for the count.
    using Signed = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    using Wide = std::conditional_t<std::is_signed_v<T>, Signed, std::make_unsigned_t<Signed>>;
    return static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(count));
  } else {
    return sum / static_cast<T>(count);
  }
}

}  // namespace chorale
