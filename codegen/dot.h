// A block program as a picture for Graphviz: blocks as columns of instructions, messages and dependencies as
// arrows.
#pragma once

#include <string>

#include "ir/block_program.h"

namespace chorale {

std::string to_dot(const BlockProgram&);

}  // namespace chorale
