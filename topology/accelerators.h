// Servers and pods of accelerators by name, each number with its source.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/topology.h"

namespace chorale {

const std::vector<CatalogueEntry>& accelerator_catalogue();

// None for other names. Throws InputError for sizes that such a machine does not have.
std::optional<Topology> accelerator_machine(const std::string& spec);

}  // namespace chorale
