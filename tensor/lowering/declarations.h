// The declarations before the class in an emitted workload: its sizes, its tensors and a rank's part of each,
// and the tables of its algorithms.
#pragma once

#include <string>

#include "tensor/lowering/places.h"

namespace chorale {

std::string printed_declarations(const WorkloadPlaces&);

// Statements: conditions that inference could check only for the sizes' defaults.
std::string printed_checks(const WorkloadPlaces&);

}  // namespace chorale
