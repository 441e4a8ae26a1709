// The factors of nccl-tests follow from a row of the table of kinds (ir/collective_kind.h): of a vector with
// a block for each rank one of n blocks stays where it is, and an AllReduce moves the data twice.
#include "cost/busbw.h"

#include <cassert>

namespace chorale {

double busbw_factor(CollectiveKind kind, int ranks) {
  assert(ranks >= 1);
  const double others = (ranks - 1.0) / ranks;
  if (row_of(kind).result == CollectiveKind::AllReduce) return 2 * others;
  return blocks_of(kind, 2) > 1 ? others : 1.0;  // of two ranks, since of one all kinds have one block
}

std::int64_t block_of_size(CollectiveKind kind, int ranks, std::int64_t size) {
  const int blocks = blocks_of(kind, ranks);
  return (size + blocks - 1) / blocks;
}

}  // namespace chorale
