// Classes of chunks up to a group of symmetries: what one of an orbit does, its images do alike.
#pragma once

#include <optional>
#include <vector>

#include "ir/collective.h"

namespace chorale {

struct ClassOrbits {
  // What an element of the group makes of a representative. Where several make the same class of it, its
  // chunks take turns.
  struct Image {
    int of = 0;     // class
    int place = 0;  // among the elements that carry the representative there
  };

  std::vector<ChunkClass> representatives = {};
  std::vector<std::vector<Image>> images = {};  // [representative][element of the group]
  // Elements that carry a class to itself. A chunk of the representative stands for as many of each class.
  int unit = 1;

  // Of all chunks of a class, the one that an element makes of the representative's.
  std::size_t number(std::size_t of_representative, const Image& image) const {
    return of_representative * unit + image.place;
  }
};

// `group`: permutations of ranks, the identity first. Nothing where an element carries a class to none of the
// same number of chunks, or where more elements carry one class to itself than another.
std::optional<ClassOrbits> class_orbits(const std::vector<ChunkClass>&,
                                        const std::vector<std::vector<Rank>>& group);

}  // namespace chorale
