// Schedules of a workload explored for a machine, and measured by compiling and running them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "cli/options.h"

namespace chorale {

class Supervisor;

// The algorithms that the options name, or else a search finds.
WorkloadMachine machine_for(const Workload&, const WorkloadTarget&, WorkloadSearch, Supervisor&);

// What there is without a search; nothing if some communication has no algorithm then.
std::optional<WorkloadMachine> quick_machine_for(const Workload&, const WorkloadTarget&);

// Schedules that failed during measurement, a line each.
std::vector<std::string> failures(const TuneResult&);

TuneResult tuned(const Workload&, const WorkloadMachine&, const TuneQuestion&, Supervisor&);

}  // namespace chorale
