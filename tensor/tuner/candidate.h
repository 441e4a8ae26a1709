// A schedule that the tuner considers, and its predicted and measured times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/language/workload.h"
#include "tensor/tuner/price.h"

namespace chorale {

// The outcome of running a schedule: a time, none if it cannot be run; or a fault, as text: it does not
// compile, fails, or gives other results.
struct Timing {
  std::optional<double> us = {};
  std::string failure = {};
};

struct Measurement {
  std::string with = {};  // TuneOptions::with of the run that made it
  Execution execution = {};
  double us = 0;
};

// A schedule. Applied to the program that was given, `script` makes it; applied to its parent, `step` does.
struct Candidate {
  int parent = -1;
  int depth = 0;  // steps from the program that was given
  std::string step =
      {};  // of tensor/transformations/transform.h: one transformation, or several that belong together
  std::string script = {};  // all steps
  Workload workload = {};
  WorkloadPrice price = {};
  Execution execution = {};  // the best one that is known: the fastest that was measured, else the price's
  std::optional<double> measured_us = {};      // of that, if it was measured
  std::vector<Measurement> measurements = {};  // in order, also those that were made with something else
  std::string failure = {};                    // of a run; it is ranked behind all others then
};

}  // namespace chorale
