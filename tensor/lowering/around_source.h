// The code around the class of an emitted workload: a main program, a description for programs that load it
// as a library, and a Makefile.
#pragma once

#include <string>
#include <string_view>

#include "tensor/language/workload.h"
#include "tensor/lowering/places.h"

namespace chorale {

std::string printed_driver(const WorkloadPlaces&);
std::string printed_description(const WorkloadPlaces&);
std::string printed_makefile(const WorkloadPlaces&, WorkloadCarrier);

// Does what is written for a carrier have this one of the headers that workloads include?
bool includes_header(WorkloadCarrier, std::string_view path);

}  // namespace chorale
