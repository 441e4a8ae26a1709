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

}  // namespace chorale
