// Classes of chunks up to a group of symmetries: what one of an orbit does, its images do alike.
#pragma once

#include <optional>
#include <vector>

#include "ir/chunk_classes.h"

namespace chorale {

struct ClassOrbits {
  std::vector<ChunkClass> representatives = {};
  std::vector<std::vector<int>> images = {};  // [representative][element of the group] -> class
};

// `group`: permutations of ranks, the identity first. Nothing where an element carries a class to none of the
// same number of chunks, or another than the identity to itself.
std::optional<ClassOrbits> class_orbits(const std::vector<ChunkClass>&,
                                        const std::vector<std::vector<Rank>>& group);

}  // namespace chorale
