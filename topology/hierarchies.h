// Hierarchical machines by name.
#pragma once

#include <string>
#include <vector>

#include "ir/hierarchy.h"
#include "topology/builders.h"

namespace chorale {

const std::vector<CatalogueEntry>& hierarchy_catalogue();

// The hierarchy of a spec such as "a100:4" or "rack:1x2x2x4". Throws InputError for other names and sizes.
Hierarchy named_hierarchy(const std::string& spec);

// A spec, or a JSON file: what contains a '/' or ends in ".json" is a path.
Hierarchy load_hierarchy(const std::string& spec_or_file);

}  // namespace chorale
