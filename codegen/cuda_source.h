// A peer program as a directory of CUDA sources that needs nothing of ours: tables of the algorithm, the
// kernel that reads them, and programs that run it, each on another kind of peers:
//
//   virtual_ranks.cu   all ranks on one GPU, or on threads of a CPU
//   peers.cu           a process per GPU: NCCL's windows, load and store inside a node, GIN between nodes;
//                      sums and copies of teams by loads and stores, or by the switch (NVLS)
//
// and a Makefile. Each checks every element of the result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/peer_program.h"
#include "ir/verified.h"

namespace chorale {

// Where the programs around the kernel do not know the collective: NCCL does not have it.
std::optional<Fault> without_cuda_programs(const Collective&);

// Two programs for one collective: the first one right out of place, the second one in place; `bus_factor` is
// busbw / algbw. Throws InputError for a collective that NCCL does not have.
std::vector<NamedText> to_cuda_sources(const Verified<PeerProgram>&, const Verified<PeerProgram>& in_place,
                                       double bus_factor = 1);

// CUDA directories of several algorithms for one collective, of which a program chooses by size.

// One of them: the files of to_cuda_sources(), for messages of up to so many bytes (HUGE_VAL: all larger
// ones).
struct SizedCuda {
  std::vector<NamedText> files = {};
  double up_to = 0;
};

// What they share once; the tables of each in a folder, algorithm_0 and so on; all_sizes.cpp, which chooses;
// and all_sizes.mk, which builds each algorithm as a library, since their names are equal: 'make -f
// all_sizes.mk cpu' and './all_sizes_cpu -b 1K -e 64M', or 'gpu'; 'peers' makes a program per algorithm, for
// mpirun. The first `whole` are chosen by size; what follows is for other machines.
std::vector<NamedText> to_sized_cuda_sources(std::span<const SizedCuda>, std::size_t whole);

}  // namespace chorale
