// Loops over elements, compiled for each type and operation; the operations on one are in
// runtime/device/elements.h, shared with the kernels. Operands do not overlap, which is declared to the
// compiler (__restrict), so loops are vectorized.
// with_type and with_op choose among them at run time.
#include "runtime/elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/device/element_types.h"

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

// Sections of a size that stays in the cache: all is read of one before it is stored.
void combine_once(ElementType type, ReduceOp op, std::span<const std::byte* const> from, std::byte* dst_bytes,
                  std::int64_t elements) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    constexpr std::int64_t kSection = 1024;
    Wide<T> sum[kSection];
    with_op(op, [&]<Combination each>() {
      for (std::int64_t begin = 0; begin < elements; begin += kSection) {
        const std::int64_t count = std::min(kSection, elements - begin);
        for (std::size_t k = 0; k < from.size(); ++k) {
          const T* const operand = reinterpret_cast<const T*>(from[k]) + begin;
          for (std::int64_t i = 0; i < count; ++i)
            sum[i] = k == 0 ? wide_value(operand[i]) : combined<each>(sum[i], wide_value(operand[i]));
        }
        T* const dst = reinterpret_cast<T*>(dst_bytes) + begin;
        for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<T>(sum[i]);
      }
    });
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
