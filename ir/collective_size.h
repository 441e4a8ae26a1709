// Whether there can be such a collective: the size of all of it is computed before anything is allocated,
// since a short text may ask for any number of chunks.
#pragma once

#include <optional>

#include "ir/collective_kind.h"
#include "ir/fault.h"

namespace chorale {

// Pairs (s, d) that have a block (ir/collective_kind.h), and the ranks that a block names.
struct BlockPairs {
  int sources = 1, destinations = 1;
  double named = 0;  // any number of ranks may be asked about
};
BlockPairs block_pairs(CollectiveKind, int ranks);

// Why make_collective() has none. Requires a kind that is not Custom.
std::optional<Fault> flaw(CollectiveKind, int ranks, int chunks, Rank root);
// Why refined() has none, of a collective that takes so many bytes.
std::optional<Fault> flaw_if_refined(double bytes, int ranks, int chunks_per_block, int chunks);

}  // namespace chorale
