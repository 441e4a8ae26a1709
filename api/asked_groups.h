// The groups of ranks and the counts that a question names, as people write them.
#pragma once

#include <string>
#include <vector>

#include "api/collective_options.h"
#include "ir/group_collective.h"

namespace chorale {

// Is any of it given?
bool names_groups(const CollectiveOptions&);

// A kind by name ("allgather"), or one with counts ("allgatherv"), over the groups that the options name, or
// over all ranks. Throws InputError.
GroupQuestion group_question(const std::string& collective, const Topology&, const CollectiveOptions&);

}  // namespace chorale
