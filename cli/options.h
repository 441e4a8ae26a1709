// What several commands have in common, and a command line that was read. Each command has a struct of its
// own in *_command.cpp, with a row for each option; cli/option_kinds.h adapts the library that parses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/workload.h"
#include "cli/outcome.h"
#include "ir/machine_changes.h"
#include "ir/placement.h"
#include "ir/search_options.h"

namespace chorale {

// What several commands ask for in the same way.
struct Limits {  // of a whole command, from its start: reading, searching and writing
  static constexpr std::int64_t kAllMemory = -2;
  std::chrono::milliseconds time{-1};  // none if negative
  // Bytes beyond what the program has at its start. -1: nine tenths of the machine's, beyond which the kernel
  // would end some process; kAllMemory: not even that.
  std::int64_t memory = -1;
};

enum class ShowProgress { OnTerminal, Always, Never };

inline std::optional<std::int64_t> asked_memory(const Limits& limits) {
  return limits.memory >= 0 ? std::optional(limits.memory) : std::nullopt;
}

struct QuestionSettings : CollectiveOptions {  // a collective and its machine
  std::string collective = {};
};

struct SearchSettings {  // what synthesize and frontier share
  QuestionSettings question = {};
  FrontierOptions options = {};  // by their rows
  std::string json = {};         // where to write the result, if anywhere; "-": to standard output
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

inline constexpr const char* kVersion = "chorale 0.1.0";

// A machine of a command: a name or a file, and what is to be different about it. Both are the command's.
struct GivenMachine {
  const std::string* spec = nullptr;
  const MachineChanges* changes = nullptr;
};

class Supervisor;

// A command line that was read.
struct Invocation {
  std::function<Outcome(Supervisor&)> perform = {};
  std::string name = {};  // of the command: "library measure"
  bool quiet = false;     // nothing is printed but errors
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
  std::vector<GivenMachine> machines = {};
};

// Throws InputError, also for what the option library complains about.
Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace chorale
