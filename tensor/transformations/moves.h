// The possible next steps from a program: the transformations of transform.h that it admits, with
// arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/language/workload.h"

namespace chorale {

struct Move {
  std::string script = {};  // for transformed(): one transformation, or several that belong together
  Workload after = {};
};

// All pointwise operations, and reductions to scalars, in as few kernels as are found one after the other,
// each of at most `most_operations` operations. An empty script: there is nothing to be fused.
Move pointwise_fused(const Workload&, int most_operations);

struct Moves {
  std::vector<Move> list = {};
  int refused = 0;  // that were tried, and are not valid
};

// split       each AllReduce that is not a scalar: along all elements in a row, to each of `roots` that
//             exists, and along each dimension if a product, or a tensor that is sliced, is made of it, or it
//             is reduced along a dimension, or its elements are moved
// levels      each AllReduce of the world where there are several groups, likewise
// join        each AllGather (Broadcast) of a ReduceScatter (Reduce)
// reorder     each AllGather (Broadcast): behind each unit that reads it, by itself and with all that can
//             follow it; behind each prefix of all that can follow, and behind all of them, also with the
//             operations of kernels that do not depend on it
// asSlice     all state that can be, at once, unless outputs would become slices
// dead        all operations that no other reads, at once
// fuse        each two units, of which the second reads the first; each two computations
// overlap     each chain of units that can be; each AllToAllV with all computations that do not depend on it,
//             nor it on them
// Which of them: a part of a program at a time, with overlaps or without.
struct MoveChoice {
  std::function<bool(const std::string& operation)> of = {};  // none: of all
  bool overlaps = true, others = true;
};
// Those whose every unit that they name has an operation of the choice; slices and dead ones of all.
Moves moves(const Workload&, const std::vector<int>& roots = {0}, const MoveChoice& = {});

}  // namespace chorale
