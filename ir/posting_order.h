// The order in which a rank posts the messages of a step, where it posts them all at once: to the next rank
// first, then to the one after it, and round; and likewise what it receives, from the rank before it first.
//
// Behind a switch the order is time. Where all ranks send to rank 0 first, then to 1, ..., they queue up at
// one port while the others idle. By distance the k-th messages of all ranks go to different ranks, as of a
// rotation: benchmarks/fabric has the times.
#pragma once

#include "ir/topology.h"

namespace chorale {

// 1 for the next rank, .., ranks - 1 for the one before it. What is posted first has the smallest.
constexpr int posting_distance(Rank src, Rank dst, int ranks) {
  return (dst - src + ranks) % ranks;
}

}  // namespace chorale
