// A workload as C++17 that needs nothing of ours but the headers that are written beside it: a class template
// over a transport, so that the same source runs with MPI and with ranks as threads of one process.
//
//   namespace adam = workloads::of_adam;
//   chorale::MpiTransport transport(MPI_COMM_WORLD);
//   adam::Program<chorale::MpiTransport> program(transport, sizes);  // sizes.of_N = ...: at run time
//   adam::Tensors tensors;                                           // tensors.of_g = this rank's part, ...
//   program.run(tensors);
//
// adam::elements_g(sizes, rank) is the number of elements of the rank's part. What inference could check only
// for the sizes' defaults (dimensions that must be equal, or divisible) is checked in the constructor, which
// throws std::invalid_argument.
#pragma once

#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/or_error.h"
#include "tensor/language/execution.h"
#include "tensor/language/workload.h"
#include "tensor/lowering/places.h"

namespace chorale {

struct WorkloadSourceOptions {
  std::string name = {};  // of the namespace and the files; empty: the workload's
  // Its points are for the caller that supplies the algorithms; of Cuda, a block is one of threads.
  Execution execution = {};
  WorkloadCarrier carrier = WorkloadCarrier::Any;  // the Makefile and the headers are for it
};

// NAME.h, NAME.json (what a library of it takes: exchange/library.h), NAME_main.cpp (which fills
// inputs with numbers or files, runs, times, and writes what comes out), Makefile (make threads; make mpi;
// make cuda; make nccl), and runtime/*/*.h, which they include. Requires a workload that inferred() has
// passed, and an algorithm for each of needed_collectives() with any number of chunks. An error
// where one is missing or does something else, and for operations that need a scattered tensor in one piece.
OrError<std::vector<NamedText>> to_workload_sources(const Workload&, const std::vector<WorkloadAlgorithm>&,
                                                    const WorkloadSourceOptions& = {});

}  // namespace chorale
