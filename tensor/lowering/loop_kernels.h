// The members of a loop's struct that kernels call: a few elements of a run at once, and the totals of rows.
#pragma once

#include <string>

#include "tensor/lowering/loop_contents.h"

namespace chorale {

std::string members_for_kernels(const LoopContents&);
std::string members_for_rows(const LoopContents&);

}  // namespace chorale
