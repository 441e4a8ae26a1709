// Named machines whose switches are nodes: their ports bind, or their paths are too many to be listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/topology.h"

namespace chorale {

const std::vector<CatalogueEntry>& switched_catalogue();

// None where the spec ("fat-tree:8") is of no such machine. Throws InputError for sizes that are out of
// range. The name is left to the caller.
std::optional<Topology> switched_machine(const std::string& spec);

}  // namespace chorale
