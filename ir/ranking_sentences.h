// A ranking of placements in sentences: where each axis lies, what its communication takes and by which
// algorithm, what binds it, what the next best placement costs, and how far off the present one is.
#pragma once

#include <string>
#include <vector>

#include "ir/ranking.h"

namespace chorale {

// "tensor (8) over the 8 GPUs of a node; data (4) over the 4 nodes". An axis that takes a part of a level
// lies on neighbours ("4 adjacent GPUs of a node"), or apart ("2 GPUs of a node (4 apart)").
std::string in_words(const ParallelismMatrix&, const std::vector<Axis>&, const Hierarchy&);

// The first placement, one sentence per communication, the next best one, and the present one if it was
// given. Empty if nothing was priced.
std::vector<std::string> sentences(const Ranking&);

}  // namespace chorale
