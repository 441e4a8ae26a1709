// Tunes a workload for a machine (tensor/tuner/tune.h): priced by the machine's algorithms, and measured by
// compiling and running schedules.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>

#include "api/workload.h"
#include "ir/option.h"

namespace chorale {

struct TuneQuestion {
  DeviceNumbers device = {};
  WorkloadCarrier transport = WorkloadCarrier::Threads;        // that schedules are measured with
  int most_candidates = 10'000, measured = 0, variations = 8;  // as in TuneOptions
  int runs = 5;             // of a schedule that is measured, of which the fastest counts
  std::string folder = {};  // where schedules that are measured are compiled; "": in the system's
  NamedText log = {};       // an earlier run's lines (TuneOptions)
  std::function<void(const std::string& line, bool measuring)> record =
      {};  // `measuring`: has begun to measure anew
  std::function<void(const TuneProgress&)> progress = {};
  const std::atomic<bool>* stop = nullptr;
};

// On the command line. A new one is a member and a row.
std::span<const OptionRow<TuneQuestion>> tune_rows();

// Throws InputError where schedules are to be measured and the transport cannot be had here.
TuneResult tune(const Workload&, const WorkloadMachine&, const TuneQuestion& = {});

}  // namespace chorale
