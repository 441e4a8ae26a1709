#include "runtime/elements.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr std::array<const char*, 4> type_names = {"float32", "float64", "int32", "int64"};
constexpr std::array<const char*, 2> op_names = {"sum", "max"};

template <typename Enum, std::size_t count>
Enum by_name(const std::array<const char*, count>& names, const std::string& name, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  throw InputError(what, "unknown name '" + name + "'", "use one of " + known);
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // whose overflow is defined
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <typename T>
void reduce_as(ReduceOp op, std::byte* dst_bytes, const std::byte* src_bytes, std::int64_t elements) {
  T* __restrict dst = reinterpret_cast<T*>(dst_bytes);
  const T* __restrict src = reinterpret_cast<const T*>(src_bytes);
  if (op == ReduceOp::Sum) {
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = sum(dst[i], src[i]);
  } else {
    for (std::int64_t i = 0; i < elements; ++i) dst[i] = std::max(dst[i], src[i]);
  }
}

}  // namespace

std::size_t size_of(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Int32 ? 4 : 8;
}

std::string to_string(ElementType type) {
  return type_names[static_cast<std::size_t>(type)];
}

std::string to_string(ReduceOp op) {
  return op_names[static_cast<std::size_t>(op)];
}

ElementType element_type(const std::string& name) {
  return by_name<ElementType>(type_names, name, "element type");
}

ReduceOp reduce_op(const std::string& name) {
  return by_name<ReduceOp>(op_names, name, "reduction");
}

void reduce(ElementType type, ReduceOp op, std::byte* dst, const std::byte* src, std::int64_t elements) {
  switch (type) {
    case ElementType::Float32:
      return reduce_as<float>(op, dst, src, elements);
    case ElementType::Float64:
      return reduce_as<double>(op, dst, src, elements);
    case ElementType::Int32:
      return reduce_as<std::int32_t>(op, dst, src, elements);
    case ElementType::Int64:
      return reduce_as<std::int64_t>(op, dst, src, elements);
  }
}

}  // namespace chorale
