// Machines by name.
#pragma once

#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/topology.h"

namespace chorale {

const std::vector<CatalogueEntry>& topology_catalogue();

// The machine of a spec such as "dgx1", "torus:4x4", "dgx-a100:2". Throws InputError for other names and
// sizes.
Topology named_topology(const std::string& spec);

// A spec, or a JSON file: what contains a '/' or ends in ".json" is a path.
Topology load_topology(const std::string& spec_or_file);

}  // namespace chorale
