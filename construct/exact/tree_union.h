// AllReduce on spanning trees: many side by side on links that are alike in both directions; each chunk goes
// up one and down again.
#pragma once

#include <optional>

#include "construct/engine/packing.h"
#include "ir/topology.h"

namespace chorale {

// Returns the packing of an AllReduce on trees that load the fullest link little, not the least that there is
// but within some per cent of it (mesh:32x32, 64 trees: 34 rounds, and 33 is the least), and are low; of the
// fewest chunks that divide `chunks` and lose nothing by it. Nothing where two ranks have more bandwidth in
// one direction than in the other, where links share capacity, and where ranks do not reach each other.
std::optional<ChunkPacking> tree_union(const Topology&, int chunks);

}  // namespace chorale
