// Tunes a program: explores all schedules that transformations lead to (transformations/moves.h), breadth
// first, each with the time that it takes by the model (price.h), carried out as is best by it; measures the
// best ones, if the caller can measure, with these and with other settings (price.h). Pointwise operations
// are fused before anything else, so that what is explored stays small (Jangda et al., section 3.5). The
// program as it was given is always among the candidates.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/files.h"
#include "ir/report.h"
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
  bool operator==(const Measurement&) const = default;
};

// A schedule. Applied to the program that was given, `script` makes it; applied to its parent, `step` does.
struct Candidate {
  int parent = -1;
  int depth = 0;  // steps from the program that was given
  std::string step =
      {};  // of transformations/transform.h: one transformation, or several that belong together
  std::string script = {};  // all steps
  Workload workload = {};
  WorkloadPrice price = {};
  Execution execution = {};  // the best one that is known: the fastest that was measured, else the price's
  std::optional<double> measured_us = {};      // of that, if it was measured
  std::vector<Measurement> measurements = {};  // in order, also those that were made with something else
  std::string failure = {};                    // of a run; it is ranked behind all others then
};

enum class TuneEnd { Complete, PartByPart, CandidateLimit, Interrupted };

struct TuneResult {
  std::vector<Candidate> candidates =
      {};  // the program as it was given, then in the order in which they were found
  // The best one first: those that were measured by that, then the others by their price; of equals the one
  // found first. Those that failed are last.
  std::vector<int> ranking = {};
  // Complete: no transformation that is tried leads to another schedule. PartByPart: of more than
  // breadth_first schedules those were searched that differ from the best ones in one of `parts` parts.
  TuneEnd end = TuneEnd::Complete;
  int parts = 0;
  int transformations = 0;  // that were applied, and valid
  int repeated = 0;         // of these: led to a schedule that was there already
  int refused = 0;          // that were not valid
  int unpriced = 0;    // led to a schedule with a collective that has no price, and from there no further
  double seconds = 0;  // of exploring, without measurements
};

struct TuneProgress {
  int candidates = 0, open = 0;      // found, and of these not yet expanded
  int measured = 0, to_measure = 0;  // schedules
  int varied = 0;                    // runs with other settings
  double best_us = 0;
};

struct TuneOptions {
  WorkloadPrices prices = {};
  // Beside the program as it was given: if there are more, the result reports that they were not searched.
  int most_candidates = 2000;
  // With more, the search goes on part by part, a part being a communication with what is around it: programs
  // of several layers have too many schedules to enumerate. Overlaps come last.
  int breadth_first = 500;
  int most_fused = 32;  // operations of a kernel of pointwise ones, at the beginning; 1: none are fused
  std::vector<int> roots = {0};  // ranks that an AllReduce is split to, into Reduce and Broadcast
  int measured = 0;              // that many of the best, and the program as it was given
  // Runs of one of those with other settings, at the most: of what it leaves open one thing after the other
  // is changed, as far as that makes it faster. A schedule 1.5 times slower than the best is not varied.
  int variations = 8;
  SettingValues values = {};
  std::function<Timing(const Candidate&, const Execution&)> measure = {};
  // The transport that `measure` uses, and the machine whose points these are: measurements count for the
  // same ones alone.
  std::string with = "threads", machine = {};
  std::function<void(const TuneProgress&)> progress = {};
  const std::atomic<bool>* stop = nullptr;  // becomes true: what was found until then is the result
  // An earlier run's lines (with their ends), by the name of their file, whose measurements are taken over;
  // and where lines of this one go, those that were taken over among them. InputError, with file and line, if
  // they are of another program, or machine.
  NamedText log = {};
  std::function<void(const std::string& line)> record = {};
};

TuneResult tune(const Workload&, const TuneOptions&);

std::string to_string(TuneEnd);  // "complete", "part by part", "candidate limit", "interrupted"

// Returns a row per candidate, the best ones first, and why the best one wins: its units beside those of the
// program as it was given.
Report report_of(const TuneResult&, int most_rows = 20);
// All of it: docs/workloads.md. Not read back.
std::string to_json(const TuneResult&);

}  // namespace chorale
