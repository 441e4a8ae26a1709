// The sizes in specs such as "ring:8" and "torus:4x4".
#pragma once

#include <string>
#include <vector>

#include "ir/catalogue.h"

namespace chorale {

// What the specs of a catalogue start with: "ring", "torus", ...
std::vector<std::string> kinds(const std::vector<CatalogueEntry>&);

// "4x2x8" as numbers >= 1. `where` is what errors (InputError) name: "topology torus:4x".
std::vector<int> spec_sizes(const std::string& where, const std::string& text);

// One number, least .. most.
int spec_size(const std::string& where, const std::string& text, int least, int most);

}  // namespace chorale
