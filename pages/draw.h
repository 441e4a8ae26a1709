// A machine drawn.
#pragma once

#include "ir/topology.h"
#include "pages/picture.h"

namespace chorale {

// Requires a topology without switches (flattened). The same topology always gets the same picture.
Picture picture_of(const Topology&);

}  // namespace chorale
