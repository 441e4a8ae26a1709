// What an operation of a workload makes of one element of its result on a rank, from its definition.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tensor/language/workload.h"
#include "tensor/verifier/layout.h"

namespace chorale {

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
