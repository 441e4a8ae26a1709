#include "cost/busbw.h"

#include <cassert>

namespace chorale {

double busbw_factor(CollectiveKind kind, int ranks) {
  assert(ranks >= 1);
  const double others = (ranks - 1.0) / ranks;
  if (row_of(kind).result == CollectiveKind::AllReduce) return 2 * others;
  return blocks_of(kind, ranks) > 1 ? others : 1.0;
}

double algbw(double size_bytes, double time_us) {
  return time_us > 0 ? size_bytes / time_us / 1e3 : 0;
}

double busbw(CollectiveKind kind, int ranks, double size_bytes, double time_us) {
  return algbw(size_bytes, time_us) * busbw_factor(kind, ranks);
}

}  // namespace chorale
