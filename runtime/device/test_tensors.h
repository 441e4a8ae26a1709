// What programs that check themselves have in the tensors of an epilogue: small numbers, by operand and
// index. C++17; copied into emitted programs.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/device/epilogue.h"

namespace chorale {

// 0 to 3.
CHORALE_DEVICE inline int test_number(int operand, std::int64_t index) {
  std::uint64_t x = static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u +
                    static_cast<std::uint64_t>(operand) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebu;
  return static_cast<int>(x >> 62);
}

// As RankTensors has them, for the check: no memory, no types, no slices.
struct TestTensors {
  static constexpr std::uint64_t seed = 0;
  template <typename R, typename T>
  CHORALE_DEVICE R whole(int operand, std::int64_t index) const {
    return static_cast<R>(test_number(operand, index));
  }
  template <typename R, typename T>
  CHORALE_DEVICE R sliced(int operand, std::int64_t index) const {
    return whole<R, T>(operand, index);
  }
};

// The bytes of a tensor of T that has the elements from an index on.
template <typename T>
std::vector<char> test_tensor(int operand, std::int64_t first, std::int64_t count) {
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = T(static_cast<float>(test_number(operand, first + i)));
    std::memcpy(bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
  return bytes;
}

// Equal, or, if the function has an exp, within the difference of two libraries' exp.
template <typename T>
bool agree(T have, T want, bool exact) {
  if (have == want || exact) return have == want;
  const double a = real<double>(have), b = real<double>(want);
  if (std::is_integral_v<T>) return std::fabs(a - b) <= 1;
  return std::fabs(a - b) <= std::fabs(b) * (is_short<T> ? 1.0 / 128 : sizeof(T) == 4 ? 1e-5 : 1e-12);
}

}  // namespace chorale
