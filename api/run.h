// Points executed on real data, every element checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/promised.h"
#include "cost/busbw.h"
#include "ir/collective.h"
#include "ir/elements.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/fields.h"
#include "ir/frontier.h"
#include "ir/message_time.h"
#include "ir/program.h"
#include "ir/report.h"
#include "ir/run_options.h"
#include "ir/step_rows.h"
#include "ir/topology.h"
#include "ir/verified.h"

namespace chorale {

class MpiSession;

enum class Executor {
  Threads,  // ranks are threads of this process
  Mpi,      // this process is one of the ranks
  Nccl,     // so it is, with a GPU each; in a library that is loaded when it is needed
  Kernel,   // ranks are thread blocks of the kernel for GPUs, on threads of this process
  Gpu,      // on one GPU; in a library that is loaded when it is needed
};

struct ExecutorEntry {
  Executor executor = Executor::Threads;
  std::string_view name = {};   // "mpi"
  std::string_view ranks = {};  // what they are: "threads"
  bool many_processes = false;  // one for each rank, started by mpirun
};
std::span<const ExecutorEntry> known_executors();
const ExecutorEntry& entry_of(Executor);

struct RunWhere {
  Executor executor = Executor::Threads;
  bool in_place = false;  // input and output in one memory, as NCCL and MPI_IN_PLACE have it
  MpiSession* session =
      nullptr;  // of this process, for Mpi and Nccl; all of its processes make the same calls
  Epilogue epilogue =
      {};  // follows every complete sum, over tensors of test numbers; not for Nccl. Empty: nothing does
};

// Environment variables of which launchers set one for each of their processes; without any of them, this
// process was not started by mpirun, and join_processes() makes it a rank among one.
const std::vector<std::string>& launcher_variables();

// This process as a rank of those that mpirun started: MPI is begun here, and ended with the last copy. Once
// in a process. `can_force_own`: measure() is to force MPI's own algorithms.
std::shared_ptr<MpiSession> join_processes(bool can_force_own = false);
Rank rank_of(const MpiSession&);
int ranks_of(const MpiSession&);

template <>
struct Fields<RunRow> {
  using R = RunRow;
  static constexpr std::tuple all = {field<&R::buffer_bytes>({.name = "message_bytes"}),
                                     field<&R::bytes>({.name = "block_bytes"}),
                                     field<&R::type>(),
                                     field<&R::op>(),
                                     field<&R::median_us>(),
                                     field<&R::min_us>(),
                                     field<&R::max_us>(),
                                     field<&R::algbw>(),
                                     field<&R::busbw>(),
                                     field<&R::wrong>()};
};

// A point of a result for that machine; a row for each type, operation and size. Throws InputError where
// something is missing (processes, a library, memory) and for options out of range; Hang where a rank does
// not come in time.
std::vector<RunRow> run(const Topology&, const Point&, const RunWhere& = {}, const RunOptions& = {});

// Judges by semantics/verify_message_plan.h, and throws std::logic_error. The program stays where it is
// meanwhile.
PlanCheck plan_check(const Verified<Program>&);
// The same of the plans that all ranks of an emitted program make.
void require_message_plans(const Verified<Program>&);

// What rows of runs came to.
struct Tally {
  std::int64_t wrong = 0;  // elements
  bool agrees = true;      // ranks end with the same bits where sums are rounded

  void add(const RunRow&);
  bool is_good(const Collective&) const;  // nothing is wrong, and the ranks agree if they have to
};
Tally tally_of(std::span<const RunRow>);

// Returns a row per size, type and operation, of a point where points[i] is that of rows[i]; and whether
// every element is right.
Report report_of(std::span<const RunRow>, const Collective&, const std::string& title,
                 const std::vector<int>& points = {});

// ", float32 travels as ..., sizes are of that", or nothing: for headings.
std::string on_wire_words(const RunOptions&);

// Options whose sizes are of messages of a collective (cost/busbw.h), as run() takes them: of blocks.
RunOptions by_messages(RunOptions, const Collective&);

// With bus bandwidths, of a collective: executors do not know links.
std::vector<RunRow> with_busbw(std::vector<RunRow>, const Collective&);

// The data of all ranks, by rank: what each has before, and what each has after.
using RankData = std::vector<std::vector<std::byte>>;

// One run of a point on the caller's data, ranks as threads of this process. Elements lie in buffers block
// after block (ir/collective_kind.h); a rank without an input has an empty one, and likewise for outputs.
// Throws InputError if the inputs are not those of a collective on blocks of one size, and as run() does.
RankData run_on(const Topology&, const Point&, ElementType, ReduceOp, const RankData& inputs);

// Accumulation in float32 is for sums of 16-bit floats: throws InputError if there are none.
void require_sums_of_halves(const RunOptions&, const Collective&);

// Float32 travels as something shorter in sums that are made once: what keeps those of a collective from it.
std::optional<Fault> without_wire(Wire, const Collective&);
// By messages: throws InputError for others, and where `where` names what sends elements as they are.
void require_wire(const RunOptions&, const Collective&, std::string_view where = {});

// The same with what MPI itself, or NCCL itself, does for this collective: to compare with. Executors Mpi and
// Nccl.
std::vector<RunRow> run_library(const Collective&, const RunWhere&, const RunOptions& = {});

// Lowered programs, whatever wrote them: read, verified, timed and run.

// What a program is made of.
struct ProgramShape {
  std::string name = {};
  Collective collective = {};
  bool shared_memory = false;  // one-sided operations, ordered by counters; else blocks with queues
  int ports = 0;               // whose proxies do what blocks ask for, in addition
  bool in_place = false, out_of_place = false;  // what it is for
  long long ranks = 0, blocks = 0;
  long long longest = 0;                         // instructions of a block
  std::map<std::string, int> instructions = {};  // of each kind
  int channels = 1;                              // of queues
  int counters = 0;                              // of shared memory
  int pieces = 1;                                // chunks here in one of the file
  std::vector<std::string> notes = {};           // what executors stumble over, though it has a meaning
};

// The verdict of its verifier.
struct ProgramVerdict {
  std::string fault = {};  // "": it performs its collective, whatever the timing
  // with queues of this many messages, or more, of 1, 2, 4 and 8; 0: of shared memory
  int depth = 0;
  // "relaxed signals order data", "launches wait for proxies", or both: where that is so, `fault` is none
  std::string condition = {};
};

class LoweredProgram {
 public:
  virtual ~LoweredProgram() = default;

  virtual const ProgramShape& shape() const = 0;
  // Requires a mode that it is for, as the others do.
  virtual ProgramVerdict verdict(bool in_place) const = 0;
  // On a machine without switches, with blocks of `block_bytes` and queues of `depth` messages. Requires a
  // correct program. Throws InputError that names ranks which send to each other without a link.
  virtual ProgramTime time(const Topology&, double block_bytes, int depth) const = 0;
  // Ranks are threads of this process. Requires a right program, and queues that are deep enough. Throws
  // Hang.
  virtual std::vector<RunRow> run(const RunOptions&, bool in_place, int depth) const = 0;
};

// `promised` is for a file whose collective has no name that says what it promises. From the text of a file:
// MSCCL's XML, a block program in JSON (docs/formats.md), an execution plan of MSCCL++. Throws InputError,
// which cites `file`, for any other text.
std::unique_ptr<LoweredProgram> lowered_program(std::string_view text, const std::string& file,
                                                const PromisedOf& promised = {});

}  // namespace chorale
