// A function on every element of a sum, as soon as the sum is complete: the operations that complete one apply it.
#pragma once

#include <map>
#include <set>

#include "ir/collective.h"
#include "ir/epilogue.h"
#include "ir/program.h"
#include "ir/topology.h"

namespace chorale {

// By position of a chunk in the inputs: the ranks that complete its sum, by adding; others get it from them.
// A function that keeps state with the elements (an optimizer with its moments) may run as an epilogue where
// every chunk has one such rank; where one has several, only a function that is the same everywhere.
std::map<int, std::set<Rank>> completion_points(const Topology&, const Collective&, const Program&);

// The same program where each operation that completes a sum applies the function to it; what is sent on is the value
// after it. The passes that follow keep it with the operation, whatever that is fused with. The result has been
// accepted by semantics/verify_program. Throws InputError where nothing is added, and where tensors are to lie like the
// outputs but sums are not completed there.
Program with_epilogue(const Topology&, const Collective&, const Program&, const Epilogue& = {});

}  // namespace chorale
