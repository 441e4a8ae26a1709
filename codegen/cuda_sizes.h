// CUDA directories of several algorithms for one collective, of which a program chooses by size.
#pragma once

#include <span>
#include <vector>

#include "ir/files.h"

namespace chorale {

// One of them: the files of to_cuda_sources(), for messages of up to so many bytes (HUGE_VAL: all larger
// ones).
struct SizedCuda {
  std::vector<NamedText> files = {};
  double up_to = 0;
};

// What they share once; the tables of each in a folder, algorithm_0 and so on; all_sizes.cpp, which chooses;
// and all_sizes.mk, which builds each algorithm as a library, since their names are equal: 'make -f
// all_sizes.mk cpu' and './all_sizes_cpu -b 1K -e 64M', or 'gpu'; 'peers' makes a program per algorithm, for
// mpirun.
std::vector<NamedText> to_sized_cuda_sources(std::span<const SizedCuda>);

}  // namespace chorale
