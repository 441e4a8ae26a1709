// What the size of a message is, and its bus bandwidth, as nccl-tests defines them (its doc/PERFORMANCE.md):
// algbw = size / time; busbw = algbw times a factor that makes it comparable with the speed of a link,
// whatever the number of ranks.
//
// The size is that of the largest buffer of a rank: the whole vector of an AllReduce, what a rank
// contributes to a ReduceScatter, sends or receives in an Alltoall, receives from an Allgather; the
// root's whole buffer in Gather and Scatter. Algorithms count blocks (ir/collective_kind.h); what people
// read and write are sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/collective.h"
#include "ir/collective_kind.h"

namespace chorale {

// 2(n-1)/n for AllReduce; (n-1)/n for Allgather, ReduceScatter, Alltoall, Gather and Scatter; 1 for Broadcast
// and Reduce, and for collectives that nccl-tests does not know.
double busbw_factor(CollectiveKind, int ranks);

// The messages of a collective.
struct MessageShape {
  std::int64_t blocks = 1;  // of the largest buffer of a rank
  // The factor of the kind; of groups, of counts and of collectives from files what the busiest rank has to
  // receive or send, over the size, where a sum for several of k contributors counts 2(k-1)/k: of a
  // group the factor of its kind.
  double bus_factor = 1;
};
MessageShape message_shape(const Collective&);

// Returns the block of messages of that size, in bytes, rounded up; and the size of messages of a block.
std::int64_t block_of_size(const MessageShape&, std::int64_t size);
std::vector<std::int64_t> blocks_of_sizes(const Collective&, const std::vector<std::int64_t>& sizes);
std::int64_t size_of_block(const MessageShape&, std::int64_t block);

// GB/s = 1e9 bytes per second; 0 in no time.
double algbw_gbs(double size, double us);

}  // namespace chorale
