// Ring algorithms (Patarasuk and Yuan 2009; papers: ring properties), over one ring of ranks or several at
// once, and the rings of a machine.
#pragma once

#include <vector>

#include "construct/plan.h"

namespace chorale {

using Order = std::vector<Rank>;  // each rank once; the ring closes from the last to the first

// Chunk i of each block goes round rings[i % rings.size()]: ranks - 1 steps. Chunks are numbered as in
// make_collective: chunk i of block b is b * chunks + i.
Plan ring_allgather(const std::vector<Order>& rings, int chunks);
// The same backwards, adding up, over the rings turned round, so that both use the same links.
Plan ring_reducescatter(const std::vector<Order>& rings, int chunks);

// Chunks per round over the narrowest link of the ring; 0 if one is missing. One rank alone is a ring of
// width 1.
int ring_width(const Topology&, const Order&);
inline bool is_ring(const Topology& topology, const Order& order) {
  return ring_width(topology, order) > 0;
}

// The widest ring through all ranks (its narrowest link is as wide as can be), found by backtracking; empty
// where none was found within a fixed effort, which for the machines of this project means that there is
// none.
Order widest_ring(const Topology&);

// Rings that share the machine within a round: the widest, as often as its links and limits carry it, then
// the same turned round, then the widest of what is left. dgx1: its double ring twice in each direction, its
// single ring once in each, as NCCL uses it. Greedy: where rings get in each other's way there may be more
// (dgx-a100 with many nodes, torus). Empty where there is no ring.
std::vector<Order> ring_decomposition(const Topology&);

}  // namespace chorale
