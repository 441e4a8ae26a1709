// Transformations of programs into equivalent programs. Each is a pure function; one that cannot be applied
// gives an error: "split avg: ..." with the rule and the operation that breaks it. docs/workloads.md has
// them as a table. Types are inferred before and after; what is already fused or overlapped is left so, or
// refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/or_error.h"
#include "tensor/language/workload.h"

namespace chorale {

// AllReduce `name` as a first part, named `first`, and a second one, which keeps the name, so that all that
// reads it still does. `layout`: what the first part leaves, Sliced by a ReduceScatter or Rooted by a Reduce.
OrError<Workload> split(const Workload&, const std::string& name, const std::string& first,
                        TensorLayout layout);
// The inverse: an AllGather (Broadcast) whose only operand is a ReduceScatter (Reduce) that nothing else
// reads.
OrError<Workload> join(const Workload&, const std::string& gather);

// AllReduce `name` stays one, named `first`; each rank goes on with its slice, named `slice`, and an
// AllGather of these keeps the name. Behind that, operations can be moved by reorder().
OrError<Workload> shard(const Workload&, const std::string& name, const std::string& first,
                        const std::string& slice, TensorLayout layout);

// AllReduce `name` of a tensor of the world on two levels: a ReduceScatter in each group, named `first`, an
// AllReduce of each slice across groups, named `second`, and an AllGather in each
// group, which keeps the name.
OrError<Workload> levels(const Workload&, const std::string& name, const std::string& first,
                         const std::string& second, TensorLayout layout);

// Moves an AllGather, or Broadcast, behind operations that read it, directly or through each other: they work
// on slices (on the root), and what is read from outside of them is gathered (broadcast) afterwards.
// Operations: pointwise, reductions to scalars, which an AllReduce of partials then ends, Send, and those
// that slice along; of pointwise ones and reductions also such that read other replicated tensors of that
// shape. A kernel's name stands for all that is in it. The gathered ones keep their names, the sliced ones,
// and kernels of such, have names with `prefix` in front. The gather disappears if no operation reads it any
// more.
OrError<Workload> reorder(const Workload&, const std::string& gather,
                          const std::vector<std::string>& operations, const std::string& prefix);

// An input of the program's own, replicated, of which only slices in one layout are used and made: it becomes
// sliced, and the gather that updated it disappears; where that was an output, the slices are. (Of
// broadcasts: Rooted.)
OrError<Workload> as_slice(const Workload&, const std::string& input);
// Without an operation whose result no operation reads.
OrError<Workload> dead(const Workload&, const std::string& name);

// As one kernel (language/kernels.h), or overlapped. Operations are moved together where dependencies allow
// it: what lies between them stays in front if it can, and in its order. A kernel's name stands for all that
// is in it.
OrError<Workload> fuse(const Workload&, const std::vector<std::string>& operations,
                       const std::string& kernel);
OrError<Workload> overlap(const Workload&, const std::vector<std::string>& units, const std::string& name);

// A script, one after the other, with ; or newlines between them, and # before comments:
//   split(avg, rs)                       ReduceScatter, named rs, and AllGather; of all elements in a row, or
//   split(avg, rs, Sliced(1))            along a dimension
//   split(avg, rs, Rooted(0))            Reduce to that rank, and Broadcast
//   join(avg)
//   shard(avg, sum, part)                AllReduce, named sum, its Slice, named part, and AllGather; flat, or
//   shard(avg, sum, part, Sliced(1))     along a dimension
//   levels(avg, rs, sum)                 in each group, across groups, and in each group; flat, or
//   levels(avg, rs, sum, Sliced(1))      along a dimension
//   reorder(avg; m_, v_, p_)             sliced ones are named s_m_, s_v_, s_p_, or
//   reorder(avg; m_, v_, p_; slice_)     with another prefix
//   asSlice(m)
//   dead(m_)
//   fuse(update; rs, s_m_, s_v_, s_p_, p_)
//   overlap(both; layer, update)
// Throws InputError: "file:line:column: ..."
Workload transformed(const Workload&, std::string_view script, const std::string& file = "script");

}  // namespace chorale
