// A loop over the elements of a space (stages.h) as a struct in C++: `element`, what is done
// with one, for hosts and for device code; for hosts, a loop over it that a compiler vectorizes, since its
// pointers are declared not to overlap; and the traversal of the space, in runs along which each operand
// either advances by one or stays; for kernels, a few elements of such a run at once. It is all values and
// pointers, so that it can be handed to a kernel.
#pragma once

#include <string>
#include <vector>

#include "tensor/lowering/loop_contents.h"

namespace chorale {

struct PrintedLoop {
  std::string definition = {};  // the struct
  std::string made = {};        // statements that make it
  std::string after = {};       // statements for when all elements are done
  std::string members = {};     // of the class: what holds totals meanwhile
};
PrintedLoop printed_loop(const Workload&, const std::vector<int>& operations, const LoopOptions&,
                         const LoopSurroundings&);

}  // namespace chorale
