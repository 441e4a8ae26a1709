// All types and operations, and the sum of what was wrong, ranks that disagree included: for the tests of
// executors.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/run.h"

namespace chorale::test {

inline const std::vector<ElementType> all_types = {
    ElementType::Float32, ElementType::Float64, ElementType::Int32,  ElementType::Int64,
    ElementType::Int8,    ElementType::Uint8,   ElementType::Uint32, ElementType::Uint64,
    ElementType::Float16, ElementType::Bfloat16};
inline const std::vector<ReduceOp> all_ops = {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod,
                                              ReduceOp::Avg};

inline std::int64_t wrong(const std::vector<RunRow>& rows) {
  std::int64_t sum = 0;
  for (const RunRow& row : rows) sum += row.wrong + !row.agrees;
  return sum;
}

}  // namespace chorale::test
