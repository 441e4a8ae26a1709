// The command line as values: one struct per command. The files *_command.cpp have a row for each option;
// cli/option_kinds.h adapts the library that parses them, and cli/command_line.h parses a command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/compile.h"
#include "api/compose.h"
#include "api/inputs.h"
#include "api/library_model.h"
#include "api/machines.h"
#include "api/report.h"
#include "api/run.h"
#include "api/search.h"
#include "api/tuning.h"
#include "api/workload.h"
#include "cli/progress.h"
#include "ir/elements.h"
#include "ir/machine_changes.h"
#include "ir/place_options.h"
#include "ir/placement.h"
#include "ir/search_options.h"
#include "jobs/calibrate.h"
#include "jobs/compare.h"
#include "jobs/design.h"
#include "jobs/measure.h"
#include "jobs/optimize.h"
#include "jobs/order.h"
#include "jobs/simulate.h"
#include "library/answers.h"
#include "library/export.h"

namespace chorale {

// What several commands ask for in the same way.
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

inline constexpr const char* kVersion = "chorale 0.1.0";

struct Message {  // help, version, or the answer to a shell: print and stop
  std::string text = {};
  std::string document = {};  // printed as it is
};

struct TopologyCommand {
  enum class Form { Text, Dot, Json, Levels, Facts };
  std::string name = {};  // empty: list the machines, or the facts of hardware
  MachineChanges changes = {};
  Form form = Form::Text;
  std::string html = {};  // where to draw it, if anywhere
  Limits limits = {};
};

struct ImportCommand {
  std::vector<std::string> files = {};
  ImportOptions question = {};
  std::string output = {};  // where to write the machine, if anywhere; "-": to standard output
  std::string json = {};    // and what was read, assumed and fitted
  Limits limits = {};
};

struct DiscoverCommand {
  ImportOptions question = {};
  std::string output = {}, json = {};  // as of an import
  Limits limits = {};
};

struct CalibrateCommand {
  std::string machine = {};
  MachineChanges changes = {};
  CalibrateOptions options = {};
  std::vector<LinkLog> logs = {};  // what others measured; none of either: it is measured here
  std::vector<CollectiveLog> collective_logs = {};
  std::string output = {};           // where to write the machine, if anywhere
  std::string json = {}, html = {};  // and what was measured
  Limits limits = {.memory = Limits::kAllMemory};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct SynthesizeCommand {
  SearchSettings search = {};
  SynthesisQuestion asked = {};
};

struct FrontierCommand {
  SearchSettings search = {};
  std::string library = {};  // where the answer is searched, and stored
  std::string repair = {};   // a result for the machine before its failures, to begin with
  SizeModel model = {};
  std::vector<std::int64_t> bytes = {};  // of messages, for which the fastest point is reported
  bool all = false;                      // list points that others dominate, too
};

struct CompareCommand {
  std::string first = {}, second = {};  // machines, or files of results
  CompareQuestion question = {};
  std::string json = {}, html = {}, svg = {};
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct OptimizeCommand {
  QuestionSettings question = {};  // without a collective: the usual ones
  OptimizeQuestion asked = {};     // sizes, baselines, searches side by side
  std::string log = {};            // what was measured
  // Of each collective; -1: as long as a search takes that ends by itself, and at most kLongestOptimize.
  std::chrono::milliseconds search_time{-1};
  std::string directory = {};  // where to write the result, the page and a program, if anywhere
  std::optional<Target> target = Target::Mpi;  // none: the preload library
  std::string json = {}, svg = {};
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct JobCommand {
  std::vector<std::string> traces = {};
  std::string machine = {};  // "": the job is only listed
  std::string library = {};
  BaselineSet baselines = BaselineSet::Auto;
  std::chrono::milliseconds search_time{2'000};  // of each collective and level
  std::string spec = {};                         // where to write the specification of a library
  std::string json = {};
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct AlltoallvCommand {
  std::string counts = {};  // a file
  int nodes = 1;
  std::string rates = {};
  std::string json = {}, html = {};
};

struct ComposeCommand {
  QuestionSettings question = {};
  std::string outline = {};     // "allgather node, allgather gpu"; empty: all that are known
  ComposeOptions options = {};  // without the outline
  std::string json = {};
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct CheckCommand {
  std::string file = {};
  std::string proofs = {};
  std::string lrat = {};
  std::string pb = {};
  PbFormat pb_format = PbFormat::V2_0;
  std::int64_t conflicts = -1;
  std::int64_t plain_conflicts = PlainEffort{}.conflicts;
  std::string json = {};
  Limits limits = {};
  bool all = false;  // list every fault
};

struct ShowCommand {
  std::string file = {};
  std::string html = {};
  std::optional<int> point = {};
  SizeModel model = {};
  std::vector<std::int64_t> bytes = {};  // as of a frontier
  std::string json = {};                 // where to write their report, if anywhere
  std::int64_t events = -1;              // of a message whose events are drawn; -1: none are
  Limits limits = {};
};

struct RunCommand {
  std::string file = {};
  Executor transport = Executor::Threads;
  RunOptions options = {.bytes = {1 << 10, 32 << 10, 1 << 20}, .iterations = 5, .warm_up = 1};
  bool in_place = false;
  std::string epilogue = {};      // a file; empty: none
  std::optional<int> point = {};  // none: for each size the one that should be the fastest
  bool all_points = false;        // those on the frontier
  Limits limits = {.memory = Limits::kAllMemory};
};

struct ClassicCommand {
  ClassicQuestion question = {};  // of the name "list": the catalogue
  std::string topology = {};
  MachineChanges changes = {};
  std::string json = {};
  Limits limits = {};
};

struct BaselineCommand {
  std::string machine = {};  // or a GPU, which `facts` are of
  std::string collective = {};
  LibraryMachine facts = {};
  std::vector<std::int64_t> sizes = {};
  std::string json = {};
};

struct BoundsCommand {
  QuestionSettings question = {};
  BoundsQuestion asked = {};
  std::string json = {}, html = {};
  Limits limits = {};
};

struct EmitCommand {
  std::string file = {};
  std::optional<Target> target = Target::MscclXml;  // none: the page
  std::string directory = ".";
  std::optional<int> point = {};
  CompileOptions options = {};
  std::string epilogue = {};  // a file that options.epilogue is read from; empty: none
  Limits limits = {};
};

struct SimulateCommand {
  std::string file = {};
  std::optional<int> point = {};  // none: those on the frontier
  std::vector<std::int64_t> sizes = SimulateQuestion().message_bytes;
  std::string json = {};
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct BenchCommand {
  std::string collective = {};
  // "mpi", "nccl", baselines, result files; none: MPI's or NCCL's own.
  std::vector<std::string> algorithms = {};
  bool gpus = false;        // each process has one, and messages go over NCCL
  bool all_points = false;  // of result files, not only the one that should be the fastest
  bool in_place = true;     // measured as well as out of place
  std::optional<int> root = {};
  std::int64_t from = 1 << 10, to = 1 << 20;  // nccl-tests' sizes
  int factor = 2;
  std::int64_t step = 0;    // bytes from one size to the next, instead of the factor; 0: not so
  RunOptions options = {};  // of each run, but its size, type and op
  Limits limits = {.memory = Limits::kAllMemory};
  std::string json = {};
};

struct ProgramCommand {
  std::string file = {};
  RunOptions options = {.bytes = {}, .iterations = 5, .warm_up = 1};  // without sizes it is not run
  std::string topology = {};    // a machine: estimate instead of running
  MachineChanges changes = {};  // of that machine
  int queue_depth = 2;
  Limits limits = {};
};

struct HierarchyCommand {
  std::string name = {};  // empty: list them
  MachineChanges changes = {};
  bool json = false;
  Limits limits = {};
};

struct PlaceCommand : JobText {
  std::string hierarchy = {};
  MachineChanges changes = {};
  std::string devices = {};              // "all", "64"
  PlaceOptions options = {};             // by their rows; its conditions are the next three
  std::vector<std::string> inside = {};  // "tensor=node"
  std::vector<std::string> order = {};   // "tensor<data"
  std::vector<std::string> memory = {};  // "node:tensor,pipeline:20G:512G"
  std::string present = {};              // where the axes are today; "": not asked
  std::string strategy = {};             // "(gpu, InsideGroup, AllReduce); ..."
  bool explain = false;
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
  std::string json = {};
  std::string html = {};
  std::string emit = {};  // a directory
};

struct OrderCommand : JobText {
  std::string topology = {};    // Slurm's topology.conf
  std::string hosts = {};       // "n[0-3,7]"; "": all of the file
  OrderQuestion question = {};  // without the job and the tapers
  std::string tapers = "2";     // "2,4"
  Limits limits = {};
  std::string json = {}, html = {};
  std::string emit = {};  // a directory
};

struct DesignCommand {
  DesignQuestion question = {};
  std::string output = {};  // where to write the machine, if anywhere
  std::string html = {}, json = {};
  std::string results = {};  // a directory
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

struct ReshardCommand {
  std::string machine = {};
  MachineChanges changes = {};
  std::string file = {};  // of layouts and tensors
  std::chrono::milliseconds search_time{8'000};
  Limits limits = {};
  std::string json = {};
  std::string result = {};  // a file
  std::string emit = {};    // a directory
};

struct TransformCommand {
  WorkloadInput workload = {};
  std::string output = {};  // "": printed
  Limits limits = {};
};

struct CompileCommand {
  WorkloadInput workload = {};
  WorkloadTarget target = {};
  WorkloadCarrier carrier = WorkloadCarrier::Any;
  bool tunes = false;
  TuneQuestion tune = {};  // of the log only the path
  std::string directory = {};
  Limits limits = {};
};

struct TuneCommand {
  WorkloadInput workload = {};
  WorkloadTarget target = {};
  TuneQuestion tune = {};  // of the log only the path
  int top = 20;
  std::string json = {};
  std::string html = {};
  Limits limits = {};
};

struct LibraryCommand {
  enum class Action { Build, Show, Failures, Verify, Select, Merge, Export, Measure };
  Action action = Action::Show;
  std::string spec = {};  // of Build
  int failures = 0;       // of Build: that machines have, 0 or 1
  std::string file = {};  // the library
  int jobs = 1;
  AnswerPlace place = {.group = "all"};         // of Select; of Measure its machine
  std::optional<SumOrder::Kind> order = {};     // of Select and Export
  std::vector<std::int64_t> bytes = {1 << 20};  // of messages
  std::string json = {};
  std::string html = {};                      // of Show
  std::vector<std::string> files = {};        // of Merge
  std::string output = {};                    // of Merge a file, of Export a directory
  std::vector<std::string> collectives = {};  // of Export
  ExportForm form = ExportForm::Mscclpp;
  std::string rules = {};       // of Export, instead of a form: what Python writes (cli/library_options.cpp)
  std::int64_t conflicts = -1;  // of Verify
  std::optional<MeasuredOver> over = {};  // of Select; none: of what it was measured over
  MeasureOptions measuring = {};          // of Measure
  Limits limits = {};
  ShowProgress progress = ShowProgress::OnTerminal;
};

enum class Shell { Bash, Fish, Zsh };

struct CompletionCommand {
  Shell shell = Shell::Bash;
};

using Command =
    std::variant<Message, TopologyCommand, ImportCommand, DiscoverCommand, CalibrateCommand, OptimizeCommand,
                 AlltoallvCommand, CompareCommand, JobCommand, SynthesizeCommand, FrontierCommand,
                 ComposeCommand, CheckCommand, ShowCommand, RunCommand, ClassicCommand, BaselineCommand,
                 BoundsCommand, HierarchyCommand, PlaceCommand, OrderCommand, DesignCommand, ReshardCommand,
                 EmitCommand, SimulateCommand, ProgramCommand, BenchCommand, TransformCommand, CompileCommand,
                 TuneCommand, LibraryCommand, CompletionCommand>;

struct Invocation {
  Command command = {};
  std::string name = {};  // of the command: "library measure"
  bool quiet = false;     // nothing is printed but errors
};

}  // namespace chorale
