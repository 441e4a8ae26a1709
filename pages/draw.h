// A machine drawn.
#pragma once

#include "ir/topology.h"
#include "pages/drawing_work.h"
#include "pages/picture.h"

namespace chorale {

// Requires a topology without switches (flattened). The same topology always gets the same picture from the
// same work; with too little its ranks stand in rows, and lines are straight.
Picture picture_of(const Topology&, DrawingWork&);

}  // namespace chorale
