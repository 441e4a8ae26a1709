// Front doors for whoever wants programs executed, checked and timed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/collective.h"
#include "ir/program.h"
#include "runtime/elements.h"
#include "runtime/mpi_session.h"
#include "runtime/rank_plan.h"

namespace chorale {

struct RunOptions {
  // Of a *block* of the collective (ir/collective.h says what that is), rounded down to whole elements; need
  // not be divisible by anything, and may be 0.
  std::vector<std::int64_t> bytes = {1024};
  std::vector<ElementType> types = {ElementType::Float32};
  // Of a program that only copies, the first one is run: they do not differ.
  std::vector<ReduceOp> ops = {ReduceOp::Sum};
  int iterations = 20;                        // that are timed, at least 1
  int warm_up = 5;                            // before them
  std::chrono::milliseconds timeout{60'000};  // of one wait for another rank
  std::uint64_t seed = 1;                     // of the inputs
  bool check = true;                          // every element, before and after the timed runs
  Accumulation accumulation = Accumulation::OwnType;
};

// One size, type and op. A time is from a barrier until the last rank is done.
struct RunRow {
  std::int64_t bytes = 0;         // of a block, in whole elements
  std::int64_t buffer_bytes = 0;  // the largest buffer of a rank: what nccl-tests calls the size
  ElementType type = ElementType::Float32;
  ReduceOp op = ReduceOp::Sum;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  double algbw = 0;        // GB/s: buffer_bytes in the median time, as nccl-tests defines it
  std::int64_t wrong = 0;  // elements of output not as promised, or of input changed, in all ranks: 0
};

// By types, then ops, then bytes. Each row is checked before and after it is timed. Requires a program that
// the referee (semantics/verify_program.h) accepts for this collective. Throws InputError for options out of
// range, and Hang. A program for one memory (Program::in_place) is run so; the timed runs go on with what the
// run before them has left there, as in nccl-tests.
std::vector<RunRow> run_on_threads(const Program&, const Collective&, const RunOptions&);

// Every process calls this; all get the same rows, and one prints them. Throws InputError, in all processes,
// if there are not as many as ranks.
std::vector<RunRow> run_on_mpi(MpiSession&, const Program&, const Collective&, const RunOptions&);

// The same with the collective of the MPI library itself; in place with MPI_IN_PLACE.
std::vector<RunRow> run_mpi_library(MpiSession&, const Collective&, const RunOptions&, bool in_place = false);

// Runs the program once, on given inputs by rank; the outputs (in place: those parts of the memory). Inputs
// must have the size that block elements and program give them.
std::vector<std::vector<std::byte>> outputs_of(const Program&, const BlockShape&, ReduceOp,
                                               const std::vector<std::vector<std::byte>>& inputs,
                                               std::chrono::milliseconds timeout = std::chrono::minutes(1));

}  // namespace chorale
