// The numbers that are moved and added.
#pragma once

#include <cstddef>
#include <string>

namespace chorale {

// Those of NCCL. 16-bit floats are computed with in float32 and rounded after each operation, and so are
// those of 8 bits (OCP 8-bit floating point, revision 1.0), whose values that are too large become the
// largest. Tensor programs have the latter; collectives by themselves are not offered them.
enum class ElementType {
  Float32,
  Float64,
  Int32,
  Int64,
  Int8,
  Uint8,
  Uint32,
  Uint64,
  Float16,
  Bfloat16,
  Float8E4m3,
  Float8E5m2
};
// Avg is the sum divided by the number of ranks, at the end; integers are truncated.
enum class ReduceOp { Sum, Max, Min, Prod, Avg };

// Type of intermediate values: their own type, or float32 for floats of 16 and 8 bits, which are then rounded
// once, at the end. For other types, and without reductions, the two are the same.
enum class Accumulation { OwnType, Float32 };

std::size_t size_of(ElementType);
// What elements travel as where those of float32 travel as `wire`.
ElementType on_wire(ElementType, ElementType wire);
bool is_short_type(ElementType);  // a float of 16 or 8 bits

std::string to_string(ElementType);  // "float32"
std::string to_string(ReduceOp);     // "sum"

// Returns the inverse; throws InputError for another name.
ElementType element_type(const std::string& name);
ReduceOp reduce_op(const std::string& name);

inline constexpr int kElementTypes = 12;
inline constexpr int kReduceOps = 5;

}  // namespace chorale
