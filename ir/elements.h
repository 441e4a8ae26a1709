// The numbers that are moved and added.
#pragma once

#include <cstddef>
#include <cstdint>
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

// What elements of float32 travel as in a collective whose sums are rounded once: short floats, or groups of
// 32 numbers of a byte that share a scale: OCP's MXINT8, and MXFP8 of e4m3 (runtime/device/wire.h).
enum class Wire { Float32, Float16, Bfloat16, E4m3, E5m2, Int8, Mxfp8 };
// Of what travels together, the elements and the bytes.
struct WireUnit {
  std::int64_t elements = 1, bytes = 4;
};

std::size_t size_of(ElementType);
WireUnit unit_on_wire(ElementType, Wire);  // other types than float32 travel as they are
// Of as many whole units as fit into some bytes.
constexpr std::int64_t elements_in(std::int64_t bytes, const WireUnit& unit) {
  return bytes / unit.bytes * unit.elements;
}
bool is_short_type(ElementType);  // a float of 16 or 8 bits

std::string to_string(ElementType);  // "float32"
std::string to_string(ReduceOp);     // "sum"
std::string to_string(Wire);         // "float16", "float8_e4m3 of one scale for 32"

// Returns the inverse; throws InputError for another name.
ElementType element_type(const std::string& name);
ReduceOp reduce_op(const std::string& name);

inline constexpr int kElementTypes = 12;
inline constexpr int kReduceOps = 5;

}  // namespace chorale
