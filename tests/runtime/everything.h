// All types and operations, and the sum of what was wrong, ranks that disagree included: for the tests of
// executors.
#pragma once

#include <cstdint>
#include <vector>

#include "construct/baselines/classic.h"
#include "runtime/run.h"
#include "tests/kit/baselines.h"
#include "topology/builders.h"

namespace chorale::test {

inline const std::vector<ElementType> all_types = {
    ElementType::Float32, ElementType::Float64, ElementType::Int32,  ElementType::Int64,
    ElementType::Int8,    ElementType::Uint8,   ElementType::Uint32, ElementType::Uint64,
    ElementType::Float16, ElementType::Bfloat16};
inline const std::vector<ReduceOp> all_ops = [] {
  std::vector<ReduceOp> ops;
  for (int i = 0; i < kReduceOps; ++i) ops.push_back(static_cast<ReduceOp>(i));
  return ops;
}();

inline std::int64_t wrong(const std::vector<RunRow>& rows) {
  std::int64_t sum = 0;
  for (const RunRow& row : rows) sum += row.wrong + !row.agrees;
  return sum;
}

// Calls check(topology, point) for the baselines of these numbers of ranks, and returns how many there are.
template <typename Check>
int for_each_baseline(const Check& check, const std::vector<int>& of_ranks = {2, 3, 5, 8, 16}) {
  int count = 0;
  for (const ClassicEntry& entry : classic_catalogue())
    for (const int ranks : of_ranks) {
      const Topology topology = named_topology("full:" + std::to_string(ranks));
      const std::optional<Point> point = baseline(entry.method, topology);
      if (!point) continue;
      check(topology, *point);
      ++count;
    }
  return count;
}

}  // namespace chorale::test
