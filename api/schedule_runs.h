// Schedules measured as their user would: written, compiled by make, and run, with ranks as threads or under
// mpirun, in a folder that is removed again; or with all of them on a GPU. All that they compute is held
// against what the first one has computed.
#pragma once

#include <map>
#include <string>

#include "api/workload.h"

namespace chorale {

// "threads", "mpi" or "cuda", as in commands.
std::string name_of(WorkloadCarrier);

class ScheduleRuns {
 public:
  // Keeps a reference to the machine. Folders are made in `where`. Throws InputError where the transport
  // cannot be had here.
  ScheduleRuns(const WorkloadMachine&, WorkloadCarrier, int runs, std::string where);

  // No time and no failure: the schedule cannot be emitted.
  Timing time(const Workload&, const Execution&);

 private:
  // Of a tensor, by its name: a number that all its bits make, and what is left of that if sums were added up
  // in another order (tensor/exchange/driver.h).
  struct Fingerprint {
    std::string bits = {};
    double weighted = 0, absolute = 0;
  };
  using Fingerprints = std::map<std::string, Fingerprint>;
  static Fingerprints fingerprints(const std::string& printed);
  std::string difference(const Fingerprints&) const;

  const WorkloadMachine& machine_;
  const WorkloadCarrier carrier_;
  const int runs_;
  const std::string where_;
  Fingerprints first_ = {};
};

}  // namespace chorale
