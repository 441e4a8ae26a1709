// Bus bandwidth as nccl-tests defines it (its doc/PERFORMANCE.md): algbw = size / time; busbw = algbw times a
// factor that makes it comparable with the speed of a link, whatever the number of ranks.
//
// `size` is the whole vector of a rank: what it contributes to an AllReduce or ReduceScatter, sends or
// receives in an Alltoall, receives from an Allgather; the root's whole buffer in Gather and Scatter.
#pragma once

#include <cstdint>

#include "ir/collective_kind.h"

namespace chorale {

// 2(n-1)/n for AllReduce; (n-1)/n for Allgather, ReduceScatter, Alltoall, Gather and Scatter; 1 for Broadcast
// and Reduce, and for collectives that nccl-tests does not know.
double busbw_factor(CollectiveKind, int ranks);

// The block of a collective of that size, in bytes, rounded up: a part of the vector where each rank has one.
std::int64_t block_of_size(CollectiveKind, int ranks, std::int64_t size);

}  // namespace chorale
