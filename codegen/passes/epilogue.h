// A function of the caller's on every element of a sum, as soon as the sum is complete: Epilogue
// instructions.
#pragma once

#include <map>
#include <set>

#include "ir/block_program.h"
#include "ir/collective.h"

namespace chorale {

// By position of a chunk in the inputs: the ranks that complete its sum, by adding; others get it from them.
// A function that keeps state with the elements (an optimizer with its moments) may run as an epilogue where
// every chunk has one such rank; where one has several, only a function that is the same everywhere.
std::map<int, std::set<Rank>> completion_points(const Collective&, const BlockProgram&);

// With an Epilogue wherever a sum is completed. What would be sent on in the same instruction is sent after
// it. The result has been accepted by semantics/verify_blocks. Requires a program that it accepts, in place
// if the program is for that. Throws InputError where nothing is added.
BlockProgram with_epilogue(const Collective&, const BlockProgram&);

}  // namespace chorale
