// What is done with the numbers that are moved and added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "ir/elements.h"
#include "ir/topology.h"

namespace chorale {

struct BlockShape {
  ElementType type = ElementType::Float32;
  std::int64_t elements = 0;  // of a block; need not be divisible by the chunks of a block
  Accumulation accumulation = Accumulation::OwnType;
  Wire wire = Wire::Float32;  // as what elements of float32 travel and are kept
};

// dst = dst (+) src, element by element; integers wrap around. Avg adds, `divide` finishes it. Both are
// aligned to the type, and do not overlap.
void reduce(ElementType, ReduceOp, std::byte* dst, const std::byte* src, std::int64_t elements);
void divide(ElementType, std::byte* data, std::int64_t elements, int count);

// What a caller wants done to a complete result: value = f(value, index) for consecutive elements of a type,
// of which the first has that index, in a rank. Several threads may call it at once.
using EpilogueFunction =
    std::function<void(ElementType, std::byte* values, std::int64_t count, std::int64_t first_index, Rank)>;

// dst = all of these combined; one of them may be dst itself, none overlaps it otherwise. Returns dst.
std::byte* combine(ElementType, ReduceOp, std::span<const std::byte* const>, std::byte* dst,
                   std::int64_t elements);

// dst = all of these in their order, added in float32 where their type is shorter, and rounded once. Any may
// be dst itself. The same of units of what travels.
void combine_once(ElementType, ReduceOp, std::span<const std::byte* const>, std::byte* dst,
                  std::int64_t elements);
void combine_once(Wire, ReduceOp, std::span<const std::byte* const>, std::byte* dst, std::int64_t units);

// Applies the program's function to a complete sum of `ranks` ranks, after averages are divided. Without a
// function, that is all.
void finish(ElementType, ReduceOp, int ranks, const EpilogueFunction&, std::byte* values, std::int64_t count,
            std::int64_t first_index, Rank);

// One that shows where it was applied and where not: adds index modulo 7, and 1.
void add_index(ElementType, std::byte* values, std::int64_t count, std::int64_t first_index, Rank);

// 16-bit floats to float32, which is exact, and back, rounded to nearest, ties to even. For other types both
// are copies, and the wide type is the type itself.
ElementType wide_type(ElementType);
void widen(ElementType, std::byte* wide, const std::byte* narrow, std::int64_t elements);
void narrow(ElementType, std::byte* narrow, const std::byte* wide, std::int64_t elements);

// Numbers of float32, blocks of `length` one after the other, to the units that travel, and back.
void pack(Wire, std::span<const std::byte> numbers, std::int64_t length, std::byte* units);
void unpack(Wire, const std::byte* units, std::int64_t length, std::span<std::byte> numbers);

}  // namespace chorale
