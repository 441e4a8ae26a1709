// The arithmetic of workloads on single numbers, from its definition: what elements can hold, functions of
// elements, sums, random numbers. Shares nothing with what runs on devices, which has to give the same bits
// (but for exp, log, tanh and pow, which differ from library to library in the last one).
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "ir/elements.h"
#include "ir/expression.h"

namespace chorale {

// A value as an element of the type holds it: fp64 fp32 fp16 bf16 e4m3 e5m2 int32. To the nearest, ties to
// even; shorter floats by way of fp32, in which they are computed, and those of 8 bits at most the largest
// number. Integers are truncated; a value that is too large
// becomes the largest, one that is too small or NaN the smallest.
double rounded(ElementType, double);

// Equal, or no numbers both.
bool same_number(double, double);

// An expression, before it is rounded to `type`, which determines in what it is computed: float32 for fp32
// and 16-bit floats, else float64. Operands are requested by their number, indices by their dimension.
double computed(const Expression&, ElementType type, std::int64_t index, std::uint64_t seed,
                const std::function<double(int)>& operand,
                const std::function<std::int64_t(int)>& index_along = {});

// a and b as one, in the type that elements of `type` are computed in; integers wrap around. Not rounded to
// 16-bit floats. The least and the greatest with a NaN is a NaN, and of two zeros -0 if one is.
double folded(ElementType, ReduceOp, double a, double b);
double product(ElementType, double a, double b);
// What changes nothing in folded().
double neutral(ElementType, ReduceOp);

// Philox 4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The random
// number of an index in a stream is a * 2^-24, where a is the first word's first 24 bits, of the counter
// {index's low word, its high word, stream, 0} and the key {seed's low word, its high word}.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

}  // namespace chorale
