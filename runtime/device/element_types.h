// From element types and reductions as values to those of runtime/device/elements.h as types. For the files
// of this room that touch data, and for kernels.
#pragma once

#include <cstdint>

#include "ir/elements.h"
#include "runtime/device/elements.h"

namespace chorale {

// Calls function with a value of the C++ type.
#ifdef __CUDACC__
#pragma nv_exec_check_disable
#endif
template <typename Function>
CHORALE_DEVICE auto with_type(ElementType type, Function function) {
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
    case ElementType::Float8E4m3:
      return function(Float8E4m3{});
    case ElementType::Float8E5m2:
      return function(Float8E5m2{});
  }
  return function(float{});
}

// Avg adds; `averaged` finishes it.
inline Combination combination_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Max:
      return Combination::Max;
    case ReduceOp::Min:
      return Combination::Min;
    case ReduceOp::Prod:
      return Combination::Prod;
    case ReduceOp::Sum:
    case ReduceOp::Avg:
      break;
  }
  return Combination::Sum;
}

// Calls function.template operator()<Combination>().
template <typename Function>
void with_op(ReduceOp op, Function function) {
  with_combination(combination_of(op),
                   [&](auto always) { function.template operator()<decltype(always)::kOp>(); });
}

}  // namespace chorale
