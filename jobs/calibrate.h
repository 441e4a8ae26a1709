// A machine with the latencies and rates that its links have: measured here, or by others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cost/calibration.h"
#include "ir/machine_changes.h"
#include "ir/report.h"
#include "ir/topology.h"

namespace chorale {

class MpiSession;

struct CalibrateOptions {
  std::int64_t from = 64 << 10, to = 1 << 20;  // bytes of the messages that the rate is measured with
  int pairs = 4;                               // of each class of links, at the most
  int times = 21;                              // each message, of which the median counts
  bool crowds = true;                          // also all links at once
  std::chrono::milliseconds timeout{60'000};   // of a rank that waits for another
  std::function<void(const std::string& doing)> progress = {};
};

// What another program measured between two ranks.
struct LinkLog {
  Rank src = 0, dst = 0;
  std::string file = {};
};

// What another program measured of a collective of all ranks.
struct CollectiveLog {
  std::string collective = {};  // "": each that the log names
  std::string file = {};
};

// A machine as it is described, with its switches, by name or from a file; the numbers are written into that.
Topology described_machine(const std::string& spec_or_file, const MachineChanges& = {});

// All processes of the session call this, and get the same answer. Throws InputError where they are not as
// many as the machine's ranks; Hang.
Calibration calibrate(const Topology&, MpiSession&, const CalibrateOptions& = {});

// From logs, each of the links on the route of its pair (topology/import/timing_log.h). Then, from logs of
// collectives (jobs/measured_log.h), the cost of a call and factors of all alphas and of all betas, such that
// the fastest baseline at each size takes as long as was measured. Throws InputError.
Calibration calibrate(const Topology&, const std::vector<LinkLog>&, const std::vector<CollectiveLog>& = {});

// Notes what the machine's links carry by their datasheets, where that is known, so that the report flags
// what is measured above it.
void note_line_rates(Calibration&, const std::string& spec_or_file, MachineChanges);

// {"machine": ..., "classes": [...], "together": [...], "call_us": ..., "collectives": [...]}.
std::string to_json(const Calibration&);

// A row per class of links (equal numbers in the description), measured beside described: medians, the spread
// over the pairs of the class, and the rate that is left when all links are in use at once. Sentences name
// what could not be measured.
Report report_of(const Calibration&);

}  // namespace chorale
