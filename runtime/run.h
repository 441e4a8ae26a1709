// The interface of this room: programs are executed, checked and timed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/run_options.h"
#include "ir/verified.h"
#include "runtime/elements.h"
#include "runtime/mpi_session.h"
#include "runtime/rank_plan.h"

namespace chorale {

// By types, then ops, then bytes. Each row is checked before and after it is timed. Throws InputError for
// options out of range, and Hang. A program for one memory (Program::in_place) is run so; the timed runs go
// on with what the run before them has left there, as in nccl-tests. Each plan of a rank is checked before it
// runs, where there is a check.
std::vector<RunRow> run_on_threads(const Verified<Program>&, const RunOptions&, const PlanCheck& = {});

// Every process calls this; all get the same rows, and one prints them. Throws InputError, in all processes,
// if there are not as many as ranks.
std::vector<RunRow> run_on_mpi(MpiSession&, const Verified<Program>&, const RunOptions&,
                               const PlanCheck& = {});

// The same as under the preload library: data are copied into buffers of the program and out of them, and the
// copies are timed, too.
std::vector<RunRow> run_copied_on_mpi(MpiSession&, const Verified<Program>&, const RunOptions&,
                                      const PlanCheck& = {});

// The same with the collective of the MPI library itself; in place with MPI_IN_PLACE.
std::vector<RunRow> run_mpi_library(MpiSession&, const Collective&, const RunOptions&, bool in_place = false);

// Runs the program once, on given inputs by rank; the outputs (in place: those parts of the memory). Inputs
// must have the size that block elements and program give them.
std::vector<std::vector<std::byte>> outputs_of(const Verified<Program>&, const BlockShape&, ReduceOp,
                                               const std::vector<std::vector<std::byte>>& inputs,
                                               std::chrono::milliseconds timeout = std::chrono::minutes(1),
                                               const PlanCheck& = {});

}  // namespace chorale
