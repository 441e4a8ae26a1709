// Ring algorithms (Patarasuk and Yuan 2009; papers: ring properties), over one ring of ranks or several at
// once, and the rings of a machine.
#pragma once

#include <limits>
#include <vector>

#include "construct/plan.h"

namespace chorale {

using Order = std::vector<Rank>;  // each rank once; the ring closes from the last to the first

struct Ring {
  Order order = {};
  std::vector<LinkId> links = {};  // [position] -> the link to the next rank; empty: any
  bool operator==(const Ring&) const = default;
};

// Chunk i of each block goes round rings[i % rings.size()]: ranks - 1 steps. Chunks are numbered as in
// make_collective: chunk i of block b is b * chunks + i.
Plan ring_allgather(const std::vector<Ring>& rings, int chunks);
// The same backwards, adding up, over the rings reversed, so that both use the same links.
Plan ring_reducescatter(const std::vector<Ring>& rings, int chunks);

// Chunks per round over the narrowest link of the ring; 0 if one is missing. One rank alone is a ring of
// width 1.
int ring_width(const Topology&, const Order&);
inline bool is_ring(const Topology& topology, const Order& order) {
  return ring_width(topology, order) > 0;
}

// The widest ring through all ranks (its narrowest link is as wide as can be), found by backtracking; empty
// where none was found within a fixed work budget, which for the machines of this project means that there is
// none.
Order widest_ring(const Topology&);

// The nodes of a machine: ranks that are joined by links whose latencies are clearly below those of the
// network, by a factor of 1.5 at least. All ranks are one node where latencies do not differ so.
struct Nodes {
  std::vector<std::vector<Rank>> ranks = {};                    // of each; by their first
  double network_us = std::numeric_limits<double>::infinity();  // links inside of nodes have less
};
Nodes nodes_of(const Topology&);

// Rings that share the machine within a round: the widest, as often as its links and limits carry it, then
// the widest of what is left. On a machine of several nodes a ring visits each node once: it enters by one
// NIC, passes all ranks and leaves by one NIC, and other rings use other NICs, as NCCL's channels do. dgx1:
// its double ring twice in each direction, its single ring once in each, as NCCL uses it. Greedy: where rings
// obstruct each other there may be more (torus). Empty where there is no ring.
std::vector<Ring> ring_decomposition(const Topology&);

}  // namespace chorale
