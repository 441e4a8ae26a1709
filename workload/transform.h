// Programs into programs that mean the same. Each is a pure function; one that cannot be applied throws InputError:
// "split avg: ..." with the rule and the operation that breaks it. docs/workloads.md has them as a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/workload.h"

namespace chorale {

enum class SplitPolicy { ReduceScatterAllGather, ReduceBroadcast };

// AllReduce `name` as a first part, named `first`, and a second one, which keeps the name `name`... so that all that reads
// it still does. `layout`: what the first part leaves, Sliced or Rooted.
Workload split(const Workload&, const std::string& name, SplitPolicy, const std::string& first,
               TensorLayout layout);
// The inverse: an AllGather (Broadcast) whose only operand is a ReduceScatter (Reduce) that nothing else reads.
Workload join(const Workload&, const std::string& gather);

// Moves an AllGather, or Broadcast, behind operations that read it: they work on slices (on the root), and what is read
// from outside of them is gathered (broadcast) afterwards. Operations: pointwise, reductions to scalars, Send, and those
// that slice along. Sliced ones are named with `prefix` in front; the gathered ones keep their names.
Workload reorder(const Workload&, const std::string& gather, const std::vector<std::string>& operations,
                 const std::string& prefix);

// An input of the program's own, replicated, of which only slices in one layout are used and made: it becomes sliced.
Workload as_slice(const Workload&, const std::string& input);
// Without an operation whose result nobody reads.
Workload dead(const Workload&, const std::string& name);

// As one kernel (workload/kernels.h), or overlapped. Operations are moved together where dependencies allow it.
Workload fuse(const Workload&, const std::vector<std::string>& operations, const std::string& kernel);
Workload overlap(const Workload&, const std::vector<std::string>& units, const std::string& name);

// A script, one after the other: "split(avg, rs); reorder(avg, m_, v_, p_); asSlice(m); dead(m_); fuse(rs, p_)".
Workload apply(const Workload&, std::string_view script);

}  // namespace chorale
