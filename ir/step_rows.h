// What programs of epochs do between two exchanges of messages, as rows of integers: for executors and
// sources that go through tables. An operation of several operands or results is several rows, one after the
// other.
#pragma once

#include <vector>

#include "ir/program.h"

namespace chorale {

struct StepRow {
  int rank = 0, step = 0;
  int add = 0;  // 1: to what lies there
  int from_buffer = 0, from_slot = 0;
  int to_buffer = 0, to_slot = 0;
  int piece = 0;
  int position = -1;  // of the chunk in the inputs where the function is applied to the result; else -1
};

std::vector<StepRow> step_rows(const Program&);

}  // namespace chorale
