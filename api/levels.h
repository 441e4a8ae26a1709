// Levels of a machine, and the groups and hosts that follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/machine_changes.h"
#include "ir/outline.h"

namespace chorale {

// The levels that an outline for this machine can name: those of its description, or, of a graph without
// levels, its nodes of equal graphs. Throws InputError if there are none.
Nesting nesting(const std::string& spec_or_file, const MachineChanges& = {});
// The same; empty if there are none.
std::optional<Nesting> nesting_if_any(const std::string& spec_or_file, const MachineChanges& = {});

// The ranks that the changes leave out, each once, rising. They have been read as numbers before
// (topology/changes.h).
std::vector<Rank> ranks_gone(const MachineChanges&);

// [rank] -> number of its host, of a machine by name or from a file; empty if the machine does not define
// hosts. It does if it has levels outside of a node, and a message takes longer there than inside: other
// levels (the rows of a torus) may be of one host or of many.
std::vector<int> hosts_of(const std::string& spec_or_file);

}  // namespace chorale
