// A program as one CUDA file over NCCL that needs nothing of ours: a function with NCCL's arguments for any
// size, type and operation, and a main that runs it with a thread and a GPU for each rank and checks every
// element. The code that executes it is runtime/device, copied into the file.
#pragma once

#include <span>
#include <string>

#include "codegen/source_tables.h"

namespace chorale {

// nvcc -O3 -std=c++17 -arch=native FILE -lnccl -o x && ./x [elements of a block] [iterations] [type]
// Programs and failures as of to_mpi_source (codegen/mpi_source.h).
std::string to_nccl_source(std::span<const SizedProgram>, const std::string& name,
                           std::span<const AfterFailure> failures = {}, Wire = Wire::Float32);

// The files of device that go into it, one after the other, and codegen/nccl/host.cu (made by CMake).
std::string nccl_runtime_source();
std::string nccl_host_source();

}  // namespace chorale
