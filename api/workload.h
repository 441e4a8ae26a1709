// Tensor programs: read, transformed, tuned for a machine, and compiled for it.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/option.h"
#include "ir/or_error.h"
#include "ir/search_options.h"
#include "tensor/language/text.h"
#include "tensor/language/workload.h"
#include "tensor/transformations/transform.h"
#include "tensor/tuner/tune.h"

namespace chorale {

// From a file ("adam.chorale": docs/workloads.md). Throws InputError that names file, line and column.
Workload read_workload(const std::string& file, const WorkloadSettings& = {});

// What collectives do on a machine, at each size: a frontier for each that a workload has, or that
// transformations make of what it has.
struct WorkloadMachine {
  Topology topology = {};
  std::vector<Result> algorithms = {};
};

// Ranks that the tuner splits an AllReduce to (TuneOptions::roots): the first of those that symmetries of the
// machine carry to each other, at most 4.
std::vector<int> roots_to_try(const Topology&);

// Which communications to have algorithms for: those that are there, or also those that transformations may
// make of them, with these roots.
enum class WorkloadSearch { AsIs, Transformed };

// Takes from `known` what is for this machine, and searches the others. The machine's ranks are those of a
// group, or, where operations are over the world, of the world; so all communications but Sends are among as
// many ranks. Throws InputError, which names one that is not, and where none was found for one that is there.
//
// `order` is that of all sums (api/inputs.h): "agreed"; "fixed", along the tree of the known ones if they
// have one, else along one that suits the machine; or a tree. What is known in another order is not taken.
WorkloadMachine algorithms_for(const Topology&, const Workload&, WorkloadSearch,
                               std::vector<Result> known = {}, const FrontierOptions& = {},
                               const std::string& order = "agreed");

// Those that are there without a search: known ones and baselines, for the communications as they are.
// Nothing if there are none for one.
std::optional<WorkloadMachine> quick_algorithms_for(const Topology&, const Workload&,
                                                    std::vector<Result> known = {}, FrontierOptions = {},
                                                    const std::string& order = "agreed");

// What the tuner prices communications with: the simulated time of each point of the frontiers
// (cost/program_time.h), on links with their own alpha and beta; between groups the machine's worst link.
WorkloadPrices prices_of(const Workload&, const WorkloadMachine&, const DeviceNumbers& = {});

// One page that shows the search: the tree of schedules, their times, and why the best one wins.
std::string to_page(const TuneResult&);

// What was chosen for an operation.
struct ChosenAlgorithm {
  std::string operation = {};
  std::string collective = {};
  Cost cost = {};
  double message_bytes = 0;  // as nccl-tests counts them (cost/busbw.h)
  double us = 0;             // simulated
};

struct CompiledWorkload {
  std::vector<NamedText> files = {};  // relative paths, ready for write_files
  std::vector<ChosenAlgorithm> chosen = {};
};

// C++ whose ranks the carrier runs: docs/workloads.md describes it. For each communication it contains the
// point that the execution gives, or else the one with the least simulated time at the sizes of the workload.
// An error for what cannot be emitted, and for a point that the frontier lacks.
OrError<CompiledWorkload> try_compile(const Workload&, const WorkloadMachine&, const Execution& = {},
                                      WorkloadCarrier = WorkloadCarrier::Any);
// The same, or InputError.
CompiledWorkload compile(const Workload&, const WorkloadMachine&, const Execution& = {},
                         WorkloadCarrier = WorkloadCarrier::Any);

// The choices if that carrier runs the emitted program, with `ranks` ranks per GPU. A CPU does not have
// channels.
SettingValues setting_values(WorkloadCarrier = WorkloadCarrier::Any, int ranks = 1);

// Tunes a workload for a machine (tensor/tuner/tune.h): priced by the machine's algorithms, and measured by
// compiling and running schedules.

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
