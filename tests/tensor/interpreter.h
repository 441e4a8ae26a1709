// What a workload means: every rank with memory of its own, operations one after the other, kernels element
// by element. Slow and obvious; independent of how programs are emitted. Real numbers are computed as
// workloads define (in float32 for fp32 and 16-bit floats, in float64 for others) and rounded to the type of
// each operation's result. docs/semantics.md specifies all of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/language/workload.h"
#include "tests/tensor/meaning.h"

namespace chorale {

struct WorkloadState {
  std::map<std::string, RankValues> tensors = {};
};

// Bytes that a unit (a kernel, or an operation by itself) reads from memory and writes to it, on the rank
// where the two together are most; messages apart. An element that is read more than once is read once. What
// a kernel makes and only the kernel reads stays in registers, and costs none.
struct UnitTraffic {
  std::string name = {};  // of the kernel, or operation
  std::int64_t read = 0, written = 0;
  // The least that a rank has to send, of a tensor of n bytes over p ranks of which the smallest part has s:
  //   AllReduce 2 * (n - s);  ReduceScatter, AllGather, AllToAll n - s (AllToAllV too, if its counts are
  //   even); Reduce, Broadcast n, if p > 1; Send what it has
  std::int64_t sent = 0;
};

struct WorkloadRun {
  WorkloadState state = {};               // outputs by their names, and inputs after their updates
  std::vector<UnitTraffic> traffic = {};  // in the order of the list
};

struct WorkloadRunOptions {
  std::uint64_t seed = 0;  // of random numbers
  // Seed of the order of the elements in kernels and overlaps, since no order is promised. Sums are added in
  // the order of ranks (ReduceTensor, MatMul, Convolution: of elements), whatever this is; those over ranks
  // are rounded to the element type each time, the others once.
  std::uint64_t order = 0;
  RankSum rank_sum = {};  // sums over ranks as a program adds them up; none: in the order of ranks
};

// Requires types. Throws std::logic_error if an operation reads a value that does not exist, not yet, or no
// longer, and if inputs do not match their types: a workload that was inferred, with inputs that are
// laid_out(), does not.
WorkloadRun interpret(const Workload&, const WorkloadState& inputs, const WorkloadRunOptions& = {});

}  // namespace chorale
