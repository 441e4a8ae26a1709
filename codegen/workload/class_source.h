// The class of an emitted workload: what it owns, and run().
#pragma once

#include <string>

#include "codegen/workload/places.h"
#include "codegen/workload/step_source.h"

namespace chorale {

std::string printed_class(const WorkloadPlaces&, const StepPrinter&);

}  // namespace chorale
