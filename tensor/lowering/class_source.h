// The class of an emitted workload: what it owns, and run().
#pragma once

#include <string>

#include "tensor/lowering/places.h"
#include "tensor/lowering/step_source.h"

namespace chorale {

std::string printed_class(const WorkloadPlaces&, const StepPrinter&);

}  // namespace chorale
