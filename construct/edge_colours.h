// An edge colouring assigns uses to steps, when their order does not matter.
#pragma once

#include <optional>
#include <vector>

namespace chorale {

// `uses`: [item][kind] -> how often the item is to use a kind of resource. Returns [item][step] -> the kind
// that it uses then, or -1. Each item uses at most one kind per step; each kind is used at most rounds *
// width times in all steps together, and at most r * width times in a step of r rounds. Nothing if an item
// has more uses than there are steps, if a kind has too many in all, or, which is rare, if rounds cannot be
// spread evenly.
std::optional<std::vector<std::vector<int>>> edge_colours(std::vector<std::vector<int>> uses,
                                                          const std::vector<int>& widths, int steps,
                                                          int rounds);

}  // namespace chorale
