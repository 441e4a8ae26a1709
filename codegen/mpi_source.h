// A program as one C++ file over MPI that needs nothing of ours: persistent requests, a step after the other,
// float32 sums, and what
// follows them (ir/epilogue.h); its main fills inputs, runs, checks every element and prints the time.
#pragma once

#include <string>

#include "ir/program.h"
#include "ir/verified.h"

namespace chorale {

// mpicxx -O2 -std=c++17 FILE -o x && mpirun -n RANKS ./x [elements of a block] [iterations]
std::string to_mpi_source(const Verified<Program>&);

// codegen/mpi/program.cpp and tables.h (made by CMake).
std::string mpi_program_source();
std::string mpi_tables_source();

}  // namespace chorale
