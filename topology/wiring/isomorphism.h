// Isomorphisms of small groups.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/wiring/group.h"

namespace chorale {

// Returns a number for each element that every isomorphism keeps: elements of one color are alike in their
// orders, centralizers and roots, and in the colors of their products, several products deep.
std::vector<std::uint64_t> element_colors(const Group&);

// Whether two groups with these colors are one, by name and numbers of elements apart.
bool is_isomorphic(const Group&, const std::vector<std::uint64_t>& colors, const Group& other,
                   const std::vector<std::uint64_t>& other_colors);

// Automorphisms, the identity among them: all, or the first `most` that are found.
std::vector<std::vector<int>> automorphisms(const Group&, int most);

}  // namespace chorale
