// Programs as one C++ file over MPI that needs nothing of ours: persistent requests, a step after the other,
// float32 sums, and what follows them (ir/epilogue.h); its main fills inputs, runs, checks every element and
// prints the time.
#pragma once

#include <span>
#include <string>

#include "codegen/source_tables.h"

namespace chorale {

// A file for 'mpicxx -O2 -std=c++17 FILE -o x && mpirun -n RANKS ./x [elements of a block] [iterations]'.
// Programs of one collective by rising sizes, the last for all sizes; with one function. `name` is the
// file's. With `failures` such programs for each, one after the other; the first is for the whole machine.
// Floats are what they travel as until all is done; sums of other types than float32 are rounded once.
std::string to_mpi_source(std::span<const SizedProgram>, const std::string& name,
                          std::span<const AfterFailure> failures = {}, Wire = Wire::Float32);

// codegen/mpi/program.cpp and tables.h (made by CMake).
std::string mpi_program_source();
std::string mpi_tables_source();
std::string messages_source();  // runtime/exchange/arrival.h, runtime/exchange/message_plan.h

}  // namespace chorale
