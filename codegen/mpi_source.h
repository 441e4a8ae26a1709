// A program as one C++ file over MPI that needs nothing of ours: persistent requests, a step after the other,
// float32 sums, and what follows them (ir/epilogue.h); its main fills inputs, runs, checks every element and
// prints the time.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "ir/verified.h"

namespace chorale {

// The form for chunks of more bytes than `above`: the same program, ports serialized.
struct LongMessages {
  Verified<Program> program;
  double above = 0;
};

// mpicxx -O2 -std=c++17 FILE -o x && mpirun -n RANKS ./x [elements of a block] [iterations]
// Which form it runs it decides by the size, when it runs.
std::string to_mpi_source(const Verified<Program>&, const std::optional<LongMessages>& = {});

// codegen/mpi/program.cpp and tables.h (made by CMake).
std::string mpi_program_source();
std::string mpi_tables_source();
std::string arrival_source();  // runtime/exchange/arrival.h

}  // namespace chorale
