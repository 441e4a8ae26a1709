// What ranks have of the tensors of a workload, from the definition of layouts, and what an operation
// makes of one element of its result on a rank, from its definition.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/elements.h"
#include "ir/expression.h"
#include "tensor/language/workload.h"

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

// What a rank has of a tensor: along one dimension, of `side` places with `inner` elements in each, those
// from `begin` on.
struct Holding {
  std::int64_t side = 1, inner = 1;
  std::int64_t begin = 0, length = 0;

  // Where an element of the tensor lies in it; -1: nowhere.
  std::int64_t place(std::int64_t element) const {
    const std::int64_t along = element / inner % side - begin;
    if (along < 0 || along >= length) return -1;
    return (element / inner / side * length + along) * inner + element % inner;
  }
  bool operator==(const Holding&) const = default;
};

// Ranks of all groups.
int world(const Workload&);
// The first rank of those among which a tensor of the type is laid out that is on `rank`, too.
int first_peer(const Workload&, const TensorType&, int rank);
Holding held(const Workload&, const TensorType&, int rank);
// How many elements these are.
std::int64_t size(const TensorType&, const Holding&);

using TensorSides = std::vector<std::int64_t>;
TensorSides sides_of(const TensorType&);
// The element of a tensor with sides `of` that is read for an element of one with sides `in`, to which it
// broadcasts: dimensions are those counted from the last one, and a side of 1 is read again and again.
std::int64_t aligned(const TensorSides& in, std::int64_t element, const TensorSides& of);

// What a rank of the world has of a tensor: values in row-major order of its part, each one that the type can
// have. Empty where it has nothing.
using RankValues = std::vector<std::vector<double>>;  // by rank of the world

// The tensor assembled from the parts of ranks; throws std::logic_error if replicas differ. One per group
// that holds it (one if the scope is the world, or each group has the same); of Local the ranks' one after
// the other.
std::vector<std::vector<double>> whole(const Workload&, const TensorType&, const RankValues&);
// The inverse.
RankValues laid_out(const Workload&, const TensorType&, const std::vector<std::vector<double>>& whole);

struct SizedTensor {
  const TensorType* type = nullptr;
  TensorSides sides = {};
};
struct MadeElement {
  const Operation* op = nullptr;
  const TensorSides* sides = nullptr;
  std::span<const SizedTensor> operands = {};
  int rank = 0;
  std::int64_t element = 0;  // of the result; of what works where its operand is, of that
};
// An element of an operand on a rank.
using OperandReader = std::function<double(int operand, int rank, std::int64_t element)>;

// What `rank` gets of one element of a sum over ranks; summands are in the order of the ranks of the scope.
using RankSum =
    std::function<double(const Operation&, int rank, std::int64_t element, std::span<const double> summands)>;

// Not rounded to the type of the result but where sums over ranks are. Of ReduceTensor: the element that is
// to be added.
double made_element(const Workload&, const MadeElement&, std::uint64_t seed, const OperandReader&,
                    const RankSum& = {});

// Bytes that a rank has to send at least for it.
std::int64_t sent_bytes(const Workload&, const Operation&);

}  // namespace chorale
