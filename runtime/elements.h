// The numbers that are moved and added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace chorale {

enum class ElementType { Float32, Float64, Int32, Int64 };
enum class ReduceOp { Sum, Max };

std::size_t size_of(ElementType);

std::string to_string(ElementType);  // "float32"
std::string to_string(ReduceOp);     // "sum"

// The inverse; throws InputError for another name.
ElementType element_type(const std::string& name);
ReduceOp reduce_op(const std::string& name);

// dst = dst (+) src, element by element; integer sums wrap around. Both are aligned to the type, and do not
// overlap.
void reduce(ElementType, ReduceOp, std::byte* dst, const std::byte* src, std::int64_t elements);

}  // namespace chorale
