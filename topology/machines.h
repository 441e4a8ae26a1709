// Machines by name or from a file, in either view: as a graph, or as levels (topology/levels.h).
#pragma once

#include <string>
#include <vector>

#include "ir/hierarchy.h"
#include "ir/machine_changes.h"
#include "ir/topology.h"
#include "topology/builders.h"
#include "topology/levels.h"

namespace chorale {

// All that have a name, those that are built as graphs first.
const std::vector<CatalogueEntry>& machine_catalogue();

// Is it the name of one of these, with sizes or not, or of a file?
bool is_machine(const std::string& spec_or_file);

// A spec ("dgx1", "a100:4"), or a file (names_a_file, ir/files.h): JSON of a machine or of a hierarchy, or a
// description by another tool (topology/import/import.h), read by default options. Throws InputError for
// other names, sizes and files.
// With changes (topology/changes.h), of the graph; a name may have a failure at its end.
Topology load_topology(const std::string& spec_or_file, const MachineChanges& = {});

// The same machine as levels; the reason why there are none if it is not divided evenly, or has too many
// paths through its switches to decide.
Levels load_levels(const std::string& spec_or_file, const MachineChanges& = {});

// Throws InputError if there are no levels.
Hierarchy load_hierarchy(const std::string& spec_or_file, const MachineChanges& = {});

}  // namespace chorale
