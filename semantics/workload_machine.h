// What a workload means: every rank with memory of its own, operations one after the other, kernels element by element.
// Slow and obvious; knows nothing of how programs are emitted. Real numbers are computed as workloads say (in float32 for
// fp32 and halves, in float64 for others) and rounded to the type of each operation's result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/workload.h"

namespace chorale {

// What a rank of the world has of a tensor: values in row-major order of its part, each one that the type can have.
// Empty where it has nothing.
using RankValues = std::vector<std::vector<double>>;  // by rank of the world

struct WorkloadState {
  std::map<std::string, RankValues> tensors = {};
};

// Bytes that operations read from memory and write to it, on the rank where they are most; messages apart. What a kernel
// makes and only the kernel reads stays in registers, and costs none.
struct UnitTraffic {
  std::string name = {};  // of the kernel, or operation
  std::int64_t read = 0, written = 0, sent = 0;
};

struct WorkloadRun {
  WorkloadState state = {};  // outputs by their names, and inputs after their updates
  std::vector<UnitTraffic> traffic = {};
};

struct WorkloadRunOptions {
  std::uint64_t seed = 0;  // of random numbers
  std::uint64_t order =
      0;  // of the elements in kernels and overlaps: another one each, as nobody promises one
};

// Requires types. Throws std::logic_error where an operation reads what is not there: a workload that was inferred
// does not.
WorkloadRun interpret(const Workload&, const WorkloadState& inputs, const WorkloadRunOptions& = {});

// The tensor put together from what ranks have; throws std::logic_error where replicas differ. By group (one if the
// scope is the world); of Local the ranks' one after the other.
std::vector<std::vector<double>> whole(const Workload&, const TensorType&, const RankValues&);
// The inverse.
RankValues laid_out(const Workload&, const TensorType&, const std::vector<std::vector<double>>& whole);

// A value as an element of the type holds it.
double rounded(ElementType, double);

}  // namespace chorale
