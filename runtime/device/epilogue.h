// The function that operations apply to complete sums (ir/epilogue.h), over the tensors of ranks. Emitted
// programs have it printed as code, executors of ours go through a list of operations
// (runtime/device/stack_function.h); the arithmetic of both is here, so that they give the same bits (but for
// exp, of which a GPU has its own). C++17; includes nothing of ours but elements.h, since it is copied into
// emitted programs.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/device/elements.h"

namespace chorale {

// In what a function of such elements is computed.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, float> || is_short<T>, float, double>;

CHORALE_DEVICE inline float root_of(float x) {
  return sqrtf(x);
}
CHORALE_DEVICE inline double root_of(double x) {
  return sqrt(x);
}
CHORALE_DEVICE inline float exponential(float x) {
  return expf(x);
}
CHORALE_DEVICE inline double exponential(double x) {
  return exp(x);
}
CHORALE_DEVICE inline float logarithm(float x) {
  return logf(x);
}
CHORALE_DEVICE inline double logarithm(double x) {
  return log(x);
}
CHORALE_DEVICE inline float hyperbolic_tangent(float x) {
  return tanhf(x);
}
CHORALE_DEVICE inline double hyperbolic_tangent(double x) {
  return tanh(x);
}
CHORALE_DEVICE inline float power(float x, float y) {
  return powf(x, y);
}
CHORALE_DEVICE inline double power(double x, double y) {
  return pow(x, y);
}
template <typename R>
CHORALE_DEVICE R magnitude(R x) {
  return x < R(0) ? -x : x;
}
template <typename R>
CHORALE_DEVICE R least(R a, R b) {
  return b < a ? b : a;
}
template <typename R>
CHORALE_DEVICE R greatest(R a, R b) {
  return a < b ? b : a;
}
template <typename R>
CHORALE_DEVICE R chosen(R which, R a, R b) {
  return which != R(0) ? a : b;
}

// To the type in which values are kept. Integers are truncated, and what does not fit becomes the nearest
// that does; NaN becomes the smallest. Compared in double, where the largest 64-bit integers are rounded up
// to 2^63 (2^64), which does not fit: so `most` itself is the result from there on.
template <typename T, typename R>
CHORALE_DEVICE T rounded_to(R value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr T least = std::is_signed_v<T> ? static_cast<T>(std::uint64_t{1} << (8 * sizeof(T) - 1)) : T(0);
    constexpr T most = static_cast<T>(~least);
    const double x = static_cast<double>(value);
    if (!(x > static_cast<double>(least))) return least;
    return x >= static_cast<double>(most) ? most : static_cast<T>(x);
  } else {
    return T(value);
  }
}

template <typename R, typename T>
CHORALE_DEVICE R real(T value) {
  if constexpr (is_short<T>)
    return static_cast<R>(static_cast<float>(value));
  else
    return static_cast<R>(value);
}

// A value, rounded as if it had been stored as a T and read again.
template <typename T, typename R>
CHORALE_DEVICE R converted(R value) {
  return real<R>(rounded_to<T>(value));
}

// In [0, 1), a multiple of 2^-24: Philox 4x32 with 10 rounds (Salmon et al., SC 2011), keyed by the seed, of
// the counter that index and stream make. No state: every thread computes the same number for an element, in
// any order.
template <typename R>
CHORALE_DEVICE R random_at(std::uint64_t seed, std::uint32_t stream, std::int64_t index) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index),
                c1 = static_cast<std::uint32_t>(static_cast<std::uint64_t>(index) >> 32), c2 = stream, c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53u} * c0, b = std::uint64_t{0xcd9e8d57u} * c2;
    c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(b);
    c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(a);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return static_cast<R>(c0 >> 8) * static_cast<R>(1.0 / 16777216);
}

// Those of one rank, by operand. Sliced ones have the elements of the rank's outputs, of which the first has
// the index `slice`.
struct RankTensors {
  const void* const* data;
  std::int64_t slice;
  std::uint64_t seed = 0;

  template <typename R, typename T>
  CHORALE_DEVICE R whole(int operand, std::int64_t index) const {
    return real<R>(static_cast<const T*>(data[operand])[index]);
  }
  template <typename R, typename T>
  CHORALE_DEVICE R sliced(int operand, std::int64_t index) const {
    return whole<R, T>(operand, index - slice);
  }
};

// No function.
struct NoFunction {
  static constexpr int kOperands = 0;
  static constexpr bool kExact = true;
  CHORALE_DEVICE bool applies() const { return false; }
  static std::vector<char> test_tensor(int, std::int64_t, std::int64_t, std::int64_t) { return {}; }
  template <typename R, typename Tensors>
  CHORALE_DEVICE R value(R element, std::int64_t, const Tensors&) const {
    return element;
  }
};

// function.value<R>(element, index, tensors), rounded to the type of the element.
template <typename Function, typename Tensors, typename W>
CHORALE_DEVICE W applied(const Function& function, W element, std::int64_t index, const Tensors& tensors) {
  if constexpr (std::is_same_v<Function, NoFunction>) return element;
  using R = Real<W>;
  return rounded_to<W>(function.template value<R>(real<R>(element), index, tensors));
}

// True if the function is known only at run time. Its loop is then compiled once, for any number of operands:
// in all the loops of all types and operations, ptxas took over twenty minutes; with one loop three, as
// without a function.
template <typename Function>
inline constexpr bool is_interpreted = false;

// What a kernel applies, over the tensors of all ranks that it works for.
template <typename Function>
struct KernelEpilogue {
  static constexpr bool kMayApply = !std::is_same_v<Function, NoFunction>;
  static constexpr bool kInterpreted = is_interpreted<Function>;
  Function function;
  const void* const* tensors;  // by rank, then operand
  int operands;

  CHORALE_DEVICE bool applies() const { return function.applies(); }
  template <typename W>
  CHORALE_DEVICE W operator()(W element, std::int64_t index, int rank, std::int64_t slice) const {
    return applied(function, element, index, RankTensors{tensors + rank * operands, slice});
  }
};

}  // namespace chorale
