// What several commands ask for in the same way.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/workload.h"
#include "cli/progress.h"
#include "ir/machine_changes.h"
#include "ir/placement.h"
#include "ir/search_options.h"

namespace chorale {

struct Limits {  // of a whole command, from its start: reading, searching and writing
  static constexpr std::int64_t kAllMemory = -2;
  std::chrono::milliseconds time{-1};  // none if negative
  // Bytes beyond what the program has at its start. -1: nine tenths of the machine's, beyond which the kernel
  // would end some process; kAllMemory: not even that.
  std::int64_t memory = -1;
};

inline std::optional<std::int64_t> asked_memory(const Limits& limits) {
  return limits.memory >= 0 ? std::optional(limits.memory) : std::nullopt;
}

struct QuestionSettings : CollectiveOptions {  // a collective and its machine
  std::string collective = {};
};

struct SearchSettings {  // what synthesize and frontier share
  QuestionSettings question = {};
  FrontierOptions options = {};  // by their rows
  Limits limits = {};
  std::string json = {};  // where to write the result, if anywhere; "-": to standard output
  ShowProgress progress = ShowProgress::OnTerminal;
};

// A job by its axes and one communication, or a file.
struct JobText {
  std::string axes = {};    // "data=4,tensor=8"
  std::string reduce = {};  // "tensor", "data,pipeline"
  double bytes = 0;
  int element = 4;  // bytes
  Goal goal = Goal::AllReduce;
  std::string job = {};  // a file, instead of the five above; of a template, `axes` may give sizes
};

struct WorkloadInput {
  std::string file = {};
  WorkloadSettings settings = {};
  std::string script = {}, script_file = {};  // transformations; at most one of the two
};

// Where a workload is to run, and by which algorithms.
struct WorkloadTarget {
  std::string machine = {};
  MachineChanges changes = {};
  std::vector<std::string> algorithms = {};  // result files, instead of a search
  int max_chunks = 2;                        // of a search
  std::string order = "agreed";              // of sums
  ShowProgress progress = ShowProgress::OnTerminal;
};

}  // namespace chorale
