// Hierarchical machines by name.
#pragma once

#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/hierarchy.h"

namespace chorale {

const std::vector<CatalogueEntry>& hierarchy_catalogue();

// The hierarchy of a spec such as "a100:4" or "rack:1x2x2x4". Throws InputError for other names and sizes.
Hierarchy named_hierarchy(const std::string& spec);

}  // namespace chorale
