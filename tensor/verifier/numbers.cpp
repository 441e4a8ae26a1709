// Numbers are doubles here, which hold every number of the types exactly, and rounding is done on their
// values: by the distance of neighbours at a number's size, not by its bits, as devices do it. Sums and
// products of two fp32 numbers are made in fp32.
#include "tensor/verifier/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ir/expression_value.h"

namespace chorale {
namespace {

// With `digits` binary ones, and exponents from `least`; `largest` is the largest number. The product with a
// power of two is exact, so ties are recognized exactly; they go to the even neighbour. What is nearest to a
// number above the largest is infinity: fp16 has 65504, and 65520 is a tie of it with 65536.
double rounded_to_digits(double value, int digits, int least, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least);  // below `least` the neighbours get no closer
  const double step = std::ldexp(1.0, exponent - digits + 1), steps = std::abs(value) / step;
  double whole_steps = std::floor(steps);
  const double rest = steps - whole_steps;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole_steps, 2) == 1)) ++whole_steps;
  const double nearest = whole_steps * step;
  return std::copysign(nearest > largest ? std::numeric_limits<double>::infinity() : nearest, value);
}

double saturated(double value, double largest) {
  return std::isinf(value) ? std::copysign(largest, value) : value;
}

// By way of unsigned numbers, whose conversions wrap around by definition.
double wrapped(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
}

bool is_computed_in_float(ElementType type) {
  return type == ElementType::Float32 || is_short_type(type);
}

// The counter is the element's index, so a number depends on no other: ranks draw the same ones for the same
// elements, however a tensor is divided.
double random_number(std::uint64_t seed, std::uint32_t stream, std::int64_t index) {
  const auto low = [](std::uint64_t words) { return static_cast<std::uint32_t>(words); };
  const auto high = [](std::uint64_t words) { return static_cast<std::uint32_t>(words >> 32); };
  const std::uint64_t place = static_cast<std::uint64_t>(index);
  return std::ldexp(philox({low(place), high(place), stream, 0}, {low(seed), high(seed)})[0] >> 8, -24);
}

template <typename R>
// In R from operator to operator; a conversion within the expression rounds to its type.
R computed_in(const Expression& expression, std::int64_t index, std::uint64_t seed,
              const std::function<double(int)>& operand,
              const std::function<std::int64_t(int)>& index_along) {
  return value_of<R>(
      expression,
      [&](const ExpressionNode& node) -> R {
        switch (node.op) {
          case ExpressionOperator::Constant:
            return static_cast<R>(node.constant);
          case ExpressionOperator::Index:
            return static_cast<R>(index_along(node.operand));
          case ExpressionOperator::Operand:
            return static_cast<R>(operand(node.operand));
          case ExpressionOperator::Random:
            return static_cast<R>(random_number(seed, static_cast<std::uint32_t>(node.constant), index));
          default:
            throw std::logic_error("an expression of a workload is of no element");
        }
      },
      [](ElementType type, R value) { return static_cast<R>(rounded(type, static_cast<double>(value))); });
}

}  // namespace

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double rounded(ElementType type, double value) {
  constexpr double kLeast = std::numeric_limits<std::int32_t>::min(),
                   kMost = std::numeric_limits<std::int32_t>::max();
  switch (type) {
    case ElementType::Float64:
      return value;
    case ElementType::Float32:
      return static_cast<float>(value);
    case ElementType::Float16:
      return rounded_to_digits(static_cast<float>(value), 11, -14, 65504);
    case ElementType::Bfloat16:
      return rounded_to_digits(static_cast<float>(value), 8, -126, std::ldexp(255, 120));
    case ElementType::Float8E4m3:
      return saturated(rounded_to_digits(static_cast<float>(value), 4, -6, 448), 448);
    case ElementType::Float8E5m2:
      return saturated(rounded_to_digits(static_cast<float>(value), 3, -14, 57344), 57344);
    case ElementType::Int32:
      // NaN is no greater than anything, and becomes the smallest.
      if (!(value > kLeast)) return kLeast;
      return value >= kMost ? kMost : static_cast<std::int32_t>(value);
    default:
      throw std::logic_error("workloads have no elements of " + to_string(type));
  }
}

double computed(const Expression& expression, ElementType type, std::int64_t index, std::uint64_t seed,
                const std::function<double(int)>& operand,
                const std::function<std::int64_t(int)>& index_along) {
  if (is_computed_in_float(type)) return computed_in<float>(expression, index, seed, operand, index_along);
  return computed_in<double>(expression, index, seed, operand, index_along);
}

double folded(ElementType type, ReduceOp op, double a, double b) {
  if (op == ReduceOp::Min || op == ReduceOp::Max) {
    if (std::isnan(a) || a == b) return std::isnan(a) || std::signbit(a) ? a : b;
    return std::isnan(b) || (op == ReduceOp::Min ? b < a : a < b) ? b : a;
  }
  if (op != ReduceOp::Sum) throw std::logic_error("workloads have no reduction by " + to_string(op));
  if (type == ElementType::Int32) return wrapped(static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b));
  return is_computed_in_float(type) ? static_cast<float>(a) + static_cast<float>(b) : a + b;
}

double product(ElementType type, double a, double b) {
  if (type == ElementType::Int32) return wrapped(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b));
  return is_computed_in_float(type) ? static_cast<float>(a) * static_cast<float>(b) : a * b;
}

// Infinities as the type has them: the largest numbers of integers and of floats of 8 bits, which saturate.
double neutral(ElementType type, ReduceOp op) {
  if (op == ReduceOp::Sum) return 0;
  const double least = rounded(type, -std::numeric_limits<double>::infinity());
  const double most = rounded(type, std::numeric_limits<double>::infinity());
  return op == ReduceOp::Min ? most : least;
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};  // the golden ratio, and the root of 3 less 1
  }
  return counter;
}

}  // namespace chorale
