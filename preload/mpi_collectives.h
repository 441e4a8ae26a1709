// MPI's collectives by algorithms of ours, where there is one for the communicator's size; else MPI's own, by
// its profiling interface. What libchorale-mpi and the preload library share.
//
// All ranks decide alike: by the communicator's size, the bytes, the type and the operation, which MPI
// requires to be the same everywhere. Data that lie scattered are packed first.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // the C++ interface that MPI 3 removed, and its warnings
#endif
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

#include "preload/algorithms.h"
#include "runtime/elements.h"

namespace chorale {

// One call of the program, in our terms.
struct MpiCall {
  const char* function = "";
  const char* collective = "";
  ElementType type = ElementType::Uint8;
  ReduceOp op = ReduceOp::Sum;
  std::int64_t elements = 0;  // of a block
  int root = 0;
};

class MpiCollectives {
 public:
  // Is told of each call: the algorithm that is used, or "" and why it is passed on to MPI.
  using Observer =
      std::function<void(MPI_Comm, const MpiCall&, const std::string& algorithm, const std::string& why_not)>;

  MpiCollectives(Algorithms, Observer);

  Algorithms& algorithms() { return algorithms_; }

  // MPI's own signatures and results. Throw what is no fault of the call (no memory, a rank that never
  // comes); other ranks may then be waiting.
  int allreduce(const void* send, void* recv, int count, MPI_Datatype, MPI_Op, MPI_Comm);
  int reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype, MPI_Op, MPI_Comm);
  int allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                MPI_Datatype recv_type, MPI_Comm);
  int alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
               MPI_Datatype recv_type, MPI_Comm);
  int bcast(void* data, int count, MPI_Datatype, int root, MPI_Comm);

 private:
  struct Companion;
  struct Ready;  // a plan and what carries its messages; nothing: MPI is to do it

  static int forget_companion(MPI_Comm, int, void* companion, void*);
  Companion* companion_of(MPI_Comm);
  Ready plan(MPI_Comm, const MpiCall&);
  Ready reduction(MPI_Comm, MpiCall, MPI_Datatype, MPI_Op);
  Ready copying(MPI_Comm, const MpiCall&, std::int64_t most_bytes);
  Ready pass(MPI_Comm, const MpiCall&, const std::string& why);

  Algorithms algorithms_;
  const Observer observer_;
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace chorale
