// Programs of one collective, of which an emitted file chooses by the size of a block.
#pragma once

#include <cmath>
#include <string>

#include "ir/program.h"
#include "ir/verified.h"

namespace chorale {

struct SizedProgram {
  Verified<Program> program;
  double up_to = HUGE_VAL;  // bytes of a block: the first program that reaches them is taken
  bool serialized = false;  // over MPI: its messages that share a port go one after the other
};

}  // namespace chorale
