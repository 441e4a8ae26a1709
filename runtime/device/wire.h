// Numbers of float32 as they travel: themselves, a shorter float each (runtime/device/elements.h), or groups
// of 32 that share a scale, 33 bytes, of which the last of a block may be partly zeros. What travels is one
// of these units, and sums are made of units: read as float32, added in their order, rounded once.
//
// A group is OCP's MXINT8 or MXFP8 (Microscaling Formats, version 1.0): a byte b, for the scale 2^(b - 127),
// then a byte for each number: an int8 k for k / 64, of -127 to 127, or e4m3. The scale is the least at
// which no number exceeds the largest of its type, 127/64 or 448; OCP's own rule, of the exponent alone, cuts
// those between. With an infinity, a NaN or an int8's number above 127/64 * 2^127 in it, b is 255, and all of
// the group are NaN.
//
// C++17, and is copied into emitted programs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/elements.h"

namespace chorale {

struct Sixtyfourths {
  std::int8_t count;

  Sixtyfourths() = default;
  // To nearest even: beside 3 * 2^22 a float has no fraction.
  CHORALE_DEVICE explicit Sixtyfourths(float value)
      : count(static_cast<std::int8_t>(value * 64 + 12582912.0f - 12582912.0f)) {}
  CHORALE_DEVICE explicit operator float() const { return static_cast<float>(count) / 64; }
};

// A power of two from 2^-127 on.
CHORALE_DEVICE inline float power_of_two(int exponent) {
  return float_of_bits(exponent > -127 ? static_cast<std::uint32_t>(exponent + 127) << 23 : 0x400000u);
}

// The largest number of an element has that exponent, and is so many 64ths.
template <typename Element, int exponent_of_largest, int largest_in_64ths>
struct Scaled {
  static constexpr int kValues = 32;
  std::uint8_t scale;
  Element elements[kValues];

  Scaled() = default;
  CHORALE_DEVICE explicit Scaled(const float (&values)[kValues]) {
    std::uint32_t most = 0;  // without signs bits are in the order of the numbers
    for (const float value : values) {
      const std::uint32_t bits = bits_of_float(value) & 0x7fffffffu;
      most = bits > most ? bits : most;
    }
    int exponent = static_cast<int>(most >> 23) - 127 - exponent_of_largest;
    if (exponent < -127) exponent = -127;
    if (float_of_bits(most) * power_of_two(-exponent) > largest_in_64ths / 64.0f) ++exponent;
    const bool finite = most < 0x7f800000u && exponent < 128;
    scale = static_cast<std::uint8_t>(finite ? exponent + 127 : 255);
    const float inverse = finite ? power_of_two(-exponent) : 0;
    for (int i = 0; i < kValues; ++i) elements[i] = Element(finite ? values[i] * inverse : 0);
  }
  CHORALE_DEVICE void read(float (&values)[kValues]) const {
    const float factor = scale == 255 ? float_of_bits(0x7fc00000u) : power_of_two(scale - 127);
    for (int i = 0; i < kValues; ++i) values[i] = static_cast<float>(elements[i]) * factor;
  }
};

using MxInt8 = Scaled<Sixtyfourths, 0, 127>;
using MxFp8 = Scaled<Float8E4m3, 8, 448 * 64>;

// A unit of one number, or a group. Value is what sums of it are made in.
template <typename T>
struct UnitOf {
  using Value = decltype(wide_value(T{}));
  static constexpr int kValues = 1;
  CHORALE_DEVICE static T of(const Value (&values)[1]) { return static_cast<T>(values[0]); }
  CHORALE_DEVICE static void read(const T& unit, Value (&values)[1]) { values[0] = wide_value(unit); }
};
template <typename Element, int exponent, int largest>
struct UnitOf<Scaled<Element, exponent, largest>> {
  using Group = Scaled<Element, exponent, largest>;
  using Value = float;
  static constexpr int kValues = Group::kValues;
  CHORALE_DEVICE static Group of(const float (&values)[kValues]) { return Group(values); }
  CHORALE_DEVICE static void read(const Group& unit, float (&values)[kValues]) { unit.read(values); }
};

// Unit u of `length` numbers that lie one after the other, and back.
template <typename T>
CHORALE_DEVICE T packed(const typename UnitOf<T>::Value* numbers, std::int64_t length, std::int64_t u) {
  constexpr int k = UnitOf<T>::kValues;
  typename UnitOf<T>::Value values[k];
  for (int i = 0; i < k; ++i) values[i] = u * k + i < length ? numbers[u * k + i] : 0;
  return UnitOf<T>::of(values);
}
template <typename T>
CHORALE_DEVICE void unpack(const T& unit, typename UnitOf<T>::Value* numbers, std::int64_t length,
                           std::int64_t u) {
  constexpr int k = UnitOf<T>::kValues;
  typename UnitOf<T>::Value values[k];
  UnitOf<T>::read(unit, values);
  for (int i = 0; i < k && u * k + i < length; ++i) numbers[u * k + i] = values[i];
}

template <typename T>
CHORALE_DEVICE std::int64_t units_of(std::int64_t numbers) {
  return (numbers + UnitOf<T>::kValues - 1) / UnitOf<T>::kValues;
}

// Whole buffers, of blocks of `length` numbers one after the other.
template <typename T>
void pack(const float* numbers, std::int64_t count, std::int64_t length, T* units) {
  for (std::int64_t begin = 0; begin < count; begin += length)
    for (std::int64_t u = 0; u < units_of<T>(length); ++u) *units++ = packed<T>(numbers + begin, length, u);
}
template <typename T>
void unpack_all(const T* units, std::int64_t count, std::int64_t length, float* numbers) {
  for (std::int64_t begin = 0; begin < count; begin += length)
    for (std::int64_t u = 0; u < units_of<T>(length); ++u) unpack(*units++, numbers + begin, length, u);
}

// Rounded as what travels is, which no other number of its group changes.
template <typename T>
float travelled(float value) {
  unpack(packed<T>(&value, 1, 0), &value, 1, 0);
  return value;
}

// to = all of these in their order, of which any may be `to` itself: sections of a size that stays in the
// cache, of which all is read before it is stored.
template <Combination op, typename T>
void sum_once(const T* const* from, std::size_t operands, T* to, std::int64_t units) {
  using Value = typename UnitOf<T>::Value;
  constexpr int k = UnitOf<T>::kValues;
  constexpr std::int64_t kSection = 1024 / k;
  Value sum[kSection][k];
  for (std::int64_t begin = 0; begin < units; begin += kSection) {
    const std::int64_t count = units - begin < kSection ? units - begin : kSection;
    for (std::size_t o = 0; o < operands; ++o)
      for (std::int64_t u = 0; u < count; ++u) {
        Value values[k];
        UnitOf<T>::read(from[o][begin + u], values);
        for (int i = 0; i < k; ++i) sum[u][i] = o == 0 ? values[i] : combined<op>(sum[u][i], values[i]);
      }
    for (std::int64_t u = 0; u < count; ++u) to[begin + u] = UnitOf<T>::of(sum[u]);
  }
}

}  // namespace chorale
