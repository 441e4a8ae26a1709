// A program as rows for blocks of any length (ir/step_table.h): the block of each message and each sum, what
// may be lent, the results that need not be stored, and where a function that follows sums is applied.
#pragma once

#include <string>

#include "ir/or_error.h"
#include "ir/program.h"
#include "ir/step_rows.h"
#include "ir/verified.h"

namespace chorale {

struct ExchangeRows {
  StepRows steps = {};
  // Whether no message is received into memory that the input and the output of a rank share (its own block
  // of an Allgather, the root's vector of a Broadcast).
  bool in_place = false;
};

// With `applies`, the rank that a sum is for (Reduce, ReduceScatter) has it once, where it is complete there
// for the first time: by the operation that completes it, or, where another rank completes it, as it is
// received. An error where the program is in place, its ranks may end with different bits, or its
// kind has no such rank.
OrError<ExchangeRows> exchange_rows(const std::string& where, const Verified<Program>&, bool applies);

}  // namespace chorale
