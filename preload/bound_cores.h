// Where on its host this process was bound.
#pragma once

#include <cstdint>

namespace chorale {

// The first of the cores that it may run on, as hwloc numbers them: those of a socket one after the other,
// independent of the system's numbers. 0 for a process that may run anywhere, and where hwloc was not built
// in. Determined once; throws nothing.
std::uint64_t first_bound_core();

}  // namespace chorale
