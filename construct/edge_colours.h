// Who does what in which step, when the order does not matter.
#pragma once

#include <optional>
#include <vector>

namespace chorale {

// `uses`: by item, how often it is to use each kind of thing. By item and step, the kind that it uses then,
// or -1: at most one a step, and in all steps together each kind at most rounds * width times, in a step of r
// rounds r * width times. None where an item has more uses than there are steps, a kind too many in all, or,
// which is rare, rounds cannot be spread evenly.
std::optional<std::vector<std::vector<int>>> edge_colours(std::vector<std::vector<int>> uses,
                                                          const std::vector<int>& widths, int steps,
                                                          int rounds);

}  // namespace chorale
