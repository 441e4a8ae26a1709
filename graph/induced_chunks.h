// What a symmetry of a machine does to the chunks of a collective.
#pragma once

#include <optional>
#include <vector>

#include "graph/automorphisms.h"
#include "ir/collective.h"

namespace chorale {

// The permutation of chunks that goes with an automorphism: the i-th chunk of a class (equal pre and post)
// goes to the i-th of the image class. None if the automorphism does not preserve the collective.
std::optional<std::vector<Chunk>> induced_chunks(const Collective&, const Automorphism&);

// Colours of ranks: ranks of one colour could be exchanged as far as their own roles show, which are of one
// pattern. Remaining differences are found by induced_chunks.
std::vector<int> rank_colours(const Collective&);

}  // namespace chorale
