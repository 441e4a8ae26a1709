// Loops over elements, compiled for each type and operation; the operations on one are in
// runtime/device/elements.h, shared with the kernels. Operands do not overlap, which is declared to the
// compiler (__restrict), so loops are vectorized.
// with_type and with_op choose among them at run time.
#include "runtime/elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/device/element_types.h"
#include "runtime/device/wire.h"

namespace chorale {
namespace {

// In which values of a short type are summed.
template <typename T>
using Wide = std::conditional_t<is_short<T>, float, T>;

template <typename From, typename To>
void convert(std::byte* to_bytes, const std::byte* from_bytes, std::int64_t elements) {
  To* __restrict to = reinterpret_cast<To*>(to_bytes);
  const From* __restrict from = reinterpret_cast<const From*>(from_bytes);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<To>(from[i]);
}

template <typename T>
void combine_once(ReduceOp op, std::span<const std::byte* const> bytes, std::byte* dst, std::int64_t units) {
  std::vector<const T*> from;
  for (const std::byte* each : bytes) from.push_back(reinterpret_cast<const T*>(each));
  with_op(op, [&]<Combination each>() {
    sum_once<each>(from.data(), from.size(), reinterpret_cast<T*>(dst), units);
  });
}

// Calls function.template operator()<what travels>().
template <typename Function>
void with_wire(Wire wire, Function function) {
  switch (wire) {
    case Wire::Float32:
      return function.template operator()<float>();
    case Wire::Float16:
      return function.template operator()<Float16>();
    case Wire::Bfloat16:
      return function.template operator()<Bfloat16>();
    case Wire::E4m3:
      return function.template operator()<Float8E4m3>();
    case Wire::E5m2:
      return function.template operator()<Float8E5m2>();
    case Wire::Int8:
      return function.template operator()<MxInt8>();
    case Wire::Mxfp8:
      return function.template operator()<MxFp8>();
  }
}

}  // namespace

// Short types are combined in float and rounded after each operand, as devices do it (combined).
void reduce(ElementType type, ReduceOp op, std::byte* dst_bytes, const std::byte* src_bytes,
            std::int64_t elements) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_op(op, [&]<Combination each>() {
      T* __restrict dst = reinterpret_cast<T*>(dst_bytes);
      const T* __restrict src = reinterpret_cast<const T*>(src_bytes);
      for (std::int64_t i = 0; i < elements; ++i) dst[i] = combined<each>(dst[i], src[i]);
    });
  });
}

void divide(ElementType type, std::byte* bytes, std::int64_t elements, int count) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    T* data = reinterpret_cast<T*>(bytes);
    for (std::int64_t i = 0; i < elements; ++i) data[i] = averaged(data[i], count);
  });
}

// Where dst is one of the operands, the others are added to what lies there: copying the first one there
// would lose it.
std::byte* combine(ElementType type, ReduceOp op, std::span<const std::byte* const> from, std::byte* dst,
                   std::int64_t elements) {
  if (elements == 0) return dst;
  const auto there = std::ranges::find(from, dst);
  const auto first = there == from.end() ? from.begin() : there;
  if (there == from.end()) std::memcpy(dst, *first, elements * size_of(type));
  for (auto each = from.begin(); each != from.end(); ++each)
    if (each != first) reduce(type, op, dst, *each, elements);
  return dst;
}

void combine_once(ElementType type, ReduceOp op, std::span<const std::byte* const> from, std::byte* dst,
                  std::int64_t elements) {
  with_type(type, [&](auto zero) { combine_once<decltype(zero)>(op, from, dst, elements); });
}

void combine_once(Wire wire, ReduceOp op, std::span<const std::byte* const> from, std::byte* dst,
                  std::int64_t units) {
  with_wire(wire, [&]<typename T>() { combine_once<T>(op, from, dst, units); });
}

void pack(Wire wire, std::span<const std::byte> numbers, std::int64_t length, std::byte* units) {
  with_wire(wire, [&]<typename T>() {
    pack(reinterpret_cast<const float*>(numbers.data()), std::ssize(numbers) / 4, length,
         reinterpret_cast<T*>(units));
  });
}

void unpack(Wire wire, const std::byte* units, std::int64_t length, std::span<std::byte> numbers) {
  with_wire(wire, [&]<typename T>() {
    unpack_all(reinterpret_cast<const T*>(units), std::ssize(numbers) / 4, length,
               reinterpret_cast<float*>(numbers.data()));
  });
}

// Averages first: the function is of the finished value.
void finish(ElementType type, ReduceOp op, int ranks, const EpilogueFunction& epilogue, std::byte* values,
            std::int64_t count, std::int64_t first_index, Rank n) {
  if (count == 0) return;
  if (op == ReduceOp::Avg) divide(type, values, count, ranks);
  if (epilogue) epilogue(type, values, count, first_index, n);
}

// Its numbers are 1 to 7, which every type holds exactly.
void add_index(ElementType type, std::byte* bytes, std::int64_t count, std::int64_t first_index, Rank) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    T* values = reinterpret_cast<T*>(bytes);
    for (std::int64_t i = 0; i < count; ++i)
      values[i] = combined<Combination::Sum>(values[i], T(static_cast<float>((first_index + i) % 7 + 1)));
  });
}

ElementType wide_type(ElementType type) {
  return is_short_type(type) ? ElementType::Float32 : type;
}

void widen(ElementType type, std::byte* wide, const std::byte* narrow, std::int64_t elements) {
  with_type(type, [&](auto zero) { convert<decltype(zero), Wide<decltype(zero)>>(wide, narrow, elements); });
}

void narrow(ElementType type, std::byte* narrow, const std::byte* wide, std::int64_t elements) {
  with_type(type, [&](auto zero) { convert<Wide<decltype(zero)>, decltype(zero)>(narrow, wide, elements); });
}

}  // namespace chorale
