// Algorithms in which all ranks do the same at once: recursive doubling and halving, and direct sends between
// all pairs. Chunks are numbered as in make_collective.
#pragma once

#include <vector>

#include "construct/plan.h"

namespace chorale {

// In step k each rank exchanges all it has with the one 2^k places away; log2(ranks) steps. Requires a power
// of two ranks. Backwards and adding up, the Allgather is recursive halving: a ReduceScatter.
Plan doubling_allgather(const std::vector<Rank>& order, int chunks);
Plan doubling_allreduce(const std::vector<Rank>& order, int chunks);

// One step, each rank to every other. Backwards and adding up, the Allgather is a ReduceScatter.
Plan direct_allgather(int ranks, int chunks);
Plan direct_alltoall(int ranks, int chunks);
// Everyone adds everything into everyone: an AllReduce in one step, with ranks / 2 times the traffic of a
// ring.
Plan one_shot_allreduce(int ranks, int chunks);

}  // namespace chorale
