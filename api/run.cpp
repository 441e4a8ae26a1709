// What each executor requires of the recipe (codegen/passes/lower.h), and the executor's call. Buffers are
// compared with the machine's memory before anything is allocated: Linux grants more than there is, and ends
// the process when it is used.
#include "api/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/read_plan.h"
#include "codegen/passes/lower.h"
#include "cost/cost.h"
#include "cost/program_time.h"
#include "ir/agreement.h"
#include "ir/error.h"
#include "ir/words.h"
#include "runtime/block_executor.h"
#include "runtime/elements.h"
#include "runtime/gpu_run.h"
#include "runtime/nccl_run.h"
#include "runtime/peer_executor.h"
#include "runtime/run.h"
#include "semantics/verified.h"
#include "semantics/verify_message_plan.h"
#include "topology/hardware/peer_access.h"

namespace chorale {
namespace {

constexpr int kMostRanksOfAProcess = 256;

// What a rank has of an epilogue's tensors.
// An operand with a period is repeated, and only its period is held. The smallest type of the run has the
// most elements in a buffer.
template <typename Form>
double tensor_bytes(const Form& program, const RunOptions& options, double largest) {
  int inputs = 0;
  for (const auto& rank : program.ranks) inputs = std::max(inputs, rank.input_chunks);
  std::size_t element = 8;
  for (const ElementType type : options.types) element = std::min(element, size_of(type));
  const double whole = inputs * largest / program.chunks_per_block / static_cast<double>(element);
  double bytes = 0;
  for (const EpilogueOperand& operand : program.epilogue.operands)
    bytes += static_cast<double>(size_of(operand.type)) *
             (operand.period > 0 ? static_cast<double>(operand.period) : whole);
  return bytes;
}

// Buffers of the largest size have to fit into the memory of this machine, those of all ranks if ranks are
// threads. `scratch_block`: the bytes of a block that scratch has room for.
template <typename Form>
void require_memory(const Form& program, const RunOptions& options, bool all_ranks, double scratch_block) {
  if (options.bytes.empty()) return;
  const auto largest = static_cast<double>(*std::max_element(options.bytes.begin(), options.bytes.end()));
  double bytes = 0;
  for (const auto& rank : program.ranks) {
    const double own = (rank.input_chunks + rank.output_chunks) * largest +
                       rank.scratch_chunks * std::min(largest, scratch_block);
    bytes = all_ranks ? bytes + own : std::max(bytes, own);
  }
  // As many elements again, of what is longer or travels.
  const WireUnit unit = unit_on_wire(ElementType::Float32, options.wire);
  const double wide = options.accumulation == Accumulation::Float32 ? 3
                      : options.wire != Wire::Float32
                          ? 1 + 4 * static_cast<double>(unit.elements) / static_cast<double>(unit.bytes)
                          : 1;
  const double needed =
      wide * bytes / program.chunks_per_block +
      tensor_bytes(program, options, largest) * (all_ranks ? static_cast<double>(program.ranks.size()) : 1);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // A tenth is left to everything else on the machine.
  if (needed > 0.9 * memory)
    throw InputError("--bytes",
                     fmt::format("buffers of {} would be needed, the machine has {}", format_bytes(needed),
                                 format_bytes(memory)),
                     "use smaller sizes");
}
void require_memory(const Program& program, const RunOptions& options, bool all_ranks) {
  require_memory(program, options, all_ranks, std::numeric_limits<double>::infinity());
}

void require_executor(const RunWhere& where, int ranks) {
  if (entry_of(where.executor).many_processes && where.session == nullptr)
    throw InputError("run", "this process has not joined the others",
                     "join_processes(), and give the session");
  if (!entry_of(where.executor).many_processes && ranks > kMostRanksOfAProcess)
    throw InputError("run", fmt::format("{} ranks are too many for one process", ranks),
                     "use --transport mpi");
}

}  // namespace

const std::vector<std::string>& launcher_variables() {
  return kMpiLauncherVariables;
}

std::shared_ptr<MpiSession> join_processes(bool can_force_own) {
  return start_mpi(can_force_own);
}

Rank rank_of(const MpiSession& session) {
  return session.rank();
}

int ranks_of(const MpiSession& session) {
  return session.ranks();
}

void require_sums_of_halves(const RunOptions& options, const Collective& collective) {
  if (options.accumulation != Accumulation::Float32) return;
  if (!adds(collective))
    throw InputError("--accumulate", name_of(collective) + " adds nothing", "leave it out");
  if (std::none_of(options.types.begin(), options.types.end(), is_short_type))
    throw InputError("--accumulate", "none of the types is a half", "use it with --type half or bfloat16");
}

// Of two ranks each sum is made once.
std::optional<Fault> without_wire(Wire wire, const Collective& collective) {
  const auto fault = [](const std::string& words, const std::string& remedy) {
    return Fault{.kind = Fault::Kind::Limit, .words = words, .remedy = remedy};
  };
  if (wire == Wire::Float32) return std::nullopt;
  if (!adds(collective)) return fault(name_of(collective) + " adds nothing", "leave it out");
  if (!adds_once(collective) && collective.ranks > 2)
    return fault("partial sums travel, and would be rounded at each addition",
                 "use a schedule of --sum once");
  bool whole = true;  // blocks
  for (Rank n = 0; n < collective.ranks; ++n)
    whole = whole && input_chunks(collective, n) % collective.chunks_per_block == 0 &&
            output_chunks(collective, n) % collective.chunks_per_block == 0;
  if (!whole && unit_on_wire(ElementType::Float32, wire).elements > 1)
    return fault(name_of(collective) + " has parts of blocks, in which groups of 32 do not end",
                 "use bf16, fp16, e4m3 or e5m2");
  return std::nullopt;
}

void require_wire(const RunOptions& options, const Collective& collective, std::string_view where) {
  if (options.wire == Wire::Float32) return;
  if (!where.empty())
    throw InputError("--wire", fmt::format("{} send elements as they are", where),
                     "use a schedule of --sum once over threads or mpi");
  for (const ElementType type : options.types)
    if (type != ElementType::Float32)
      throw InputError("--wire", fmt::format("is for float32, not {}", to_string(type)), "leave out --type");
  if (const auto fault = without_wire(options.wire, collective)) throw InputError("--wire", *fault);
}

PlanCheck plan_check(const Verified<Program>& program) {
  return [&program](const StepRows& rows, Rank n, const Pieces& pieces, const MessagePlan& plan) {
    const std::vector<Fault> faults =
        violations(*program, rows.tables(), n, pieces, plan, rows.numbers.data(), 1);
    if (!faults.empty()) throw std::logic_error("message plan: " + faults.front().words);
  };
}

// Pieces of one element: a plan of longer ones has the same tasks.
void require_message_plans(const Verified<Program>& program) {
  const StepRows rows = step_rows(program);
  const PlanCheck check = plan_check(program);
  const Pieces pieces{rows.pieces, rows.pieces};
  for (Rank n = 0; n < std::ssize(program->ranks); ++n)
    check(rows, n, pieces, message_plan(*program, rows, n, pieces, 1));
}

namespace {

// For each size as it is predicted to be faster: ports serialized, or all at once.
std::vector<RunRow> run_on_processes(const Verified<Schedule>& schedule, const Verified<Program>& at_once,
                                     LoweringOptions how, MpiSession& session, const RunOptions& options) {
  if (options.bytes.empty()) return run_on_mpi(session, at_once, options, plan_check(at_once));
  how.serialize_ports = true;
  std::optional<Verified<Program>> serialized;
  const double above = serialized_above(schedule.topology());
  std::vector<std::vector<RunRow>> of_size;
  for (const std::int64_t bytes : options.bytes) {
    RunOptions one = options;
    one.bytes = {bytes};
    const double chunk_bytes = static_cast<double>(bytes) / schedule.collective().chunks_per_block;
    // Once, and only if a size requires it.
    if (chunk_bytes > above && !serialized) serialized = lower(schedule, how);
    const Verified<Program>& program = chunk_bytes > above ? *serialized : at_once;
    of_size.push_back(run_on_mpi(session, program, one, plan_check(program)));
  }
  std::vector<RunRow> rows;  // by types and operations, then by size
  for (std::size_t i = 0; !of_size.empty() && i < of_size.front().size(); ++i)
    for (std::vector<RunRow>& each : of_size) rows.push_back(each[i]);
  return rows;
}

// The kernel cuts what it sends into segments, so its scratch is bounded whatever the size; programs of
// messages hold whole chunks.
std::vector<RunRow> executed(const Topology& topology, const Point& point, const RunWhere& where,
                             const RunOptions& options) {
  require_executor(where, topology.ranks);
  require_sums_of_halves(options, point.collective);
  const bool by_messages = where.executor == Executor::Threads || where.executor == Executor::Mpi;
  if (adds_once(point.collective) && !by_messages && where.executor != Executor::Nccl &&
      std::ranges::any_of(options.types, is_short_type))
    throw InputError(fmt::format("--transport {}", entry_of(where.executor).name),
                     "rounds 16-bit floats after each addition, and not once",
                     "use --transport threads, mpi or nccl, or --type float32");
  require_wire(options, point.collective,
               !by_messages
                   ? fmt::format("blocks and kernels of --transport {}", entry_of(where.executor).name)
               : where.epilogue.expression.empty() ? ""
                                                   : "sums that an epilogue follows");
  const Verified<Schedule> schedule = accepted(topology, point.collective, point.schedule);
  // Over NCCL the program for two buffers is planned for one.
  LoweringOptions how{.in_place = where.in_place && where.executor != Executor::Nccl};
  if (!where.epilogue.expression.empty()) {
    if (where.executor == Executor::Nccl)
      throw InputError("--transport nccl",
                       "the kernel between two steps was compiled before the epilogue was known",
                       "use chorale emit --target nccl, or another transport");
    how.epilogue = where.epilogue;
  }
  if (where.executor == Executor::Kernel || where.executor == Executor::Gpu) {
    how.peers = peers_for_kernel(reads_are_faster(topology));
    const Verified<PeerProgram> program = lower<PeerProgram>(schedule, how);
    require_memory(*program, options, true, static_cast<double>(PeerRunOptions{}.segment_bytes));
    return where.executor == Executor::Kernel ? run_peers_on_threads(program, options)
                                              : run_peers_on_gpu(program, options);
  }
  const Verified<Program> program = lower(schedule, how);
  require_memory(*program, options, !entry_of(where.executor).many_processes);
  if (where.executor == Executor::Mpi)
    return run_on_processes(schedule, program, how, *where.session, options);
  if (where.executor == Executor::Nccl) return run_on_nccl(*where.session, program, options, where.in_place);
  return run_on_threads(program, options, plan_check(program));
}

}  // namespace

std::span<const ExecutorEntry> known_executors() {
  static constexpr ExecutorEntry kExecutors[] = {
      {Executor::Threads, "threads", "threads"},
      {Executor::Mpi, "mpi", "processes started by mpirun", true},
      {Executor::Nccl, "nccl", "processes with a GPU each", true},
      {Executor::Kernel, "kernel", "blocks of the kernel on threads"},
      {Executor::Gpu, "gpu", "blocks of the kernel on a GPU"},
  };
  return kExecutors;
}

const ExecutorEntry& entry_of(Executor executor) {
  return *std::ranges::find(known_executors(), executor, &ExecutorEntry::executor);
}

std::string on_wire_words(const RunOptions& options) {
  return options.wire == Wire::Float32
             ? ""
             : fmt::format(", float32 travels as {} (sizes and rates are of what travels)",
                           to_string(options.wire));
}

RunOptions by_messages(RunOptions options, const Collective& collective) {
  options.bytes = blocks_of_sizes(collective, options.bytes);
  return options;
}

std::vector<RunRow> with_busbw(std::vector<RunRow> rows, const Collective& does) {
  const double factor = message_shape(does).bus_factor;
  for (RunRow& row : rows) row.busbw = row.algbw * factor;
  return rows;
}

std::vector<RunRow> run(const Topology& topology, const Point& point, const RunWhere& where,
                        const RunOptions& options) {
  return with_busbw(executed(topology, point, where, options), point.collective);
}

namespace {

// Of a block, by what the ranks gave.
// Ranks without input (all but the root of a Broadcast) say nothing; the others must agree.
std::int64_t elements_of_a_block(const Collective& does, ElementType type, const RankData& inputs) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  std::optional<std::int64_t> block;
  for (Rank n = 0; n < does.ranks; ++n) {
    const std::string where = fmt::format("the input of rank {}", n);
    const std::int64_t bytes = std::ssize(inputs[n]), chunks = input_chunks(does, n);
    if (chunks == 0 && bytes > 0)
      throw InputError(where, fmt::format("{} has none in {}", n, name_of(does)), "leave it empty");
    if (chunks == 0) continue;
    const std::int64_t blocks = chunks / does.chunks_per_block;
    if (bytes % (size * blocks) != 0)
      throw InputError(
          where, fmt::format("{} bytes of {} are not {}", bytes, to_string(type), counted(blocks, "block")),
          "give whole elements, as many for each block");
    const std::int64_t mine = bytes / (size * blocks);
    if (block && *block != mine)
      throw InputError(where, fmt::format("has blocks of {}, others of {}", counted(mine, "element"), *block),
                       "give blocks of one size");
    block = mine;
  }
  return block.value_or(0);
}

}  // namespace

RankData run_on(const Topology& topology, const Point& point, ElementType type, ReduceOp op,
                const RankData& inputs) {
  const Collective& does = point.collective;
  require_executor({}, topology.ranks);
  if (std::ssize(inputs) != does.ranks)
    throw InputError("inputs", fmt::format("are of {}", counted(std::ssize(inputs), "rank")),
                     fmt::format("the machine has {}", does.ranks));
  const std::int64_t block = elements_of_a_block(does, type, inputs);
  const Verified<Program> program = lower(accepted(topology, does, point.schedule));
  require_memory(*program, {.bytes = {block * static_cast<std::int64_t>(size_of(type))}, .types = {type}},
                 true);
  return outputs_of(program, {.type = type, .elements = block}, op, inputs, std::chrono::minutes(1),
                    plan_check(program));
}

std::vector<RunRow> run_library(const Collective& collective, const RunWhere& where,
                                const RunOptions& options) {
  require_executor(where, collective.ranks);
  require_sums_of_halves(options, collective);
  require_wire(options, collective, "libraries' own collectives");
  if (where.executor == Executor::Nccl)
    return with_busbw(run_nccl_library(*where.session, collective, options, where.in_place), collective);
  if (where.executor == Executor::Mpi)
    return with_busbw(run_mpi_library(*where.session, collective, options, where.in_place), collective);
  throw std::invalid_argument("run_library: threads and kernels have no library of their own");
}

// Ranks that end with different bits are wrong unless the collective allows it (--order free): replicas that
// drift apart are a fault even where each rank's sum is right.
void Tally::add(const RunRow& row) {
  wrong += row.wrong;
  agrees = agrees && row.agrees;
}

bool Tally::is_good(const Collective& collective) const {
  return wrong == 0 && (agrees || collective.order.kind == SumOrder::Kind::Free);
}

Tally tally_of(std::span<const RunRow> rows) {
  Tally tally;
  for (const RunRow& row : rows) tally.add(row);
  return tally;
}

// The least and the most (R) are left out first where the terminal is narrow.
Report report_of(std::span<const RunRow> rows, const Collective& collective, const std::string& title,
                 const std::vector<int>& points) {
  ReportTable table{
      .title = title,
      .rows = {{"message bytes", "type", "op", "time (us)", "min", "max", "GB/s", "busbw", "wrong"}},
      .kinds = "rllrRRrrr"};
  for (const RunRow& row : rows)
    table.rows.push_back({std::to_string(row.buffer_bytes), to_string(row.type),
                          adds(collective) ? to_string(row.op) : "-", fmt::format("{:.1f}", row.median_us),
                          fmt::format("{:.1f}", row.min_us), fmt::format("{:.1f}", row.max_us),
                          fmt::format("{:.3f}", row.algbw), fmt::format("{:.3f}", row.busbw),
                          std::to_string(row.wrong)});
  if (!points.empty()) {
    table.kinds = "r" + table.kinds;
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      table.rows[i].insert(table.rows[i].begin(), i == 0 ? "point" : std::to_string(points[i - 1]));
  }
  Report report{.title = title, .tables = {std::move(table)}};
  const Tally tally = tally_of(rows);
  report.sentences = {tally.wrong == 0 ? "every element is right" : counted(tally.wrong, "wrong element")};
  if (!tally.agrees) report.sentences.push_back("ranks end with different bits where sums are rounded");
  return report;
}

// One class per form of program: blocks with queues (MSCCL's XML, Chorale's JSON), and one-sided operations
// in shared memory (plans of MSCCL++). Both are read from files of any origin, so nothing is run before its
// verifier has accepted it; the accepted program is kept.

namespace {

// By the first character, since programs come by any name; MSCCL's algorithms are the only form in XML.
bool is_xml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

// Chorale's JSON states whether input and output may be one buffer; two are possible in any case.
MscclFile read_blocks(std::string_view text, const std::string& file, const PromisedOf& promised) {
  if (is_xml(text)) return msccl_from_xml(text, file, promised);
  BlockProgramFile read = block_program_from_json(text, file);
  return {.collective = std::move(read.collective),
          .program = read.program,
          .in_place = read.program.in_place,
          .out_of_place = true};
}

// What both forms share: ranks that have blocks that have instructions.
template <typename Program, typename NameOf>
void count(ProgramShape& shape, const Program& program, const NameOf& name_of_instruction) {
  shape.name = program.name;
  shape.ranks = std::ssize(program.ranks);
  for (const auto& rank : program.ranks)
    for (const auto& block : rank.blocks) {
      ++shape.blocks;
      shape.longest = std::max<long long>(shape.longest, std::ssize(block.instructions));
      for (const auto& i : block.instructions) ++shape.instructions[name_of_instruction(i)];
    }
}

class QueuedProgram : public LoweredProgram {
 public:
  explicit QueuedProgram(MscclFile file) : file_(std::move(file)) {
    shape_ = {.collective = file_.collective, .in_place = file_.in_place, .out_of_place = file_.out_of_place};
    count(shape_, file_.program, [](const BlockInstruction& i) { return name_of(i); });
    for (const BlockRank& rank : file_.program.ranks)
      for (const Block& block : rank.blocks) shape_.channels = std::max(shape_.channels, block.channel + 1);
  }

  const ProgramShape& shape() const override { return shape_; }

  // A program that is correct with queues of some depth is correct with deeper ones. So the search goes down
  // from 8, the depth that executors give, and the last depth that is accepted is reported.
  ProgramVerdict verdict(bool in_place) const override {
    ProgramVerdict verdict;
    for (const int depth : {8, 4, 2, 1}) {
      Verification<BlockProgram> with_depth =
          verify(file_.collective, file_.program, {.depth = depth, .in_place = in_place});
      if (with_depth.fault) {
        // At less depth a fault is a lack of room; at 8 it is reported as the program's.
        if (verdict.depth == 0) verdict.fault = with_depth.fault->words;
        break;
      }
      accepted_[in_place] = std::move(with_depth.accepted);
      verdict.depth = depth;
    }
    return verdict;
  }

  ProgramTime time(const Topology& topology, double block_bytes, int depth) const override {
    return program_time(file_.program, topology, block_bytes, depth);
  }

  std::vector<RunRow> run(const RunOptions& options, bool in_place, int depth) const override {
    if (!accepted_[in_place]) verdict(in_place);
    return with_busbw(
        run_blocks_on_threads(accepted_[in_place].value(), options,
                              {.queue_depth = depth, .in_place = in_place, .epilogue = add_index}),
        file_.collective);
  }

 private:
  const MscclFile file_;
  ProgramShape shape_ = {};
  mutable std::array<std::optional<Verified<BlockProgram>>, 2> accepted_ = {};  // [in place]: by verdict()
};

class SharedMemoryProgram : public LoweredProgram {
 public:
  explicit SharedMemoryProgram(MscclppFile file) : file_(std::move(file)) {
    shape_ = {.collective = file_.collective,
              .shared_memory = true,
              .in_place = file_.program.in_place,
              .out_of_place = !file_.program.in_place,
              .pieces = file_.pieces,
              .notes = file_.notes};
    shape_.ports = static_cast<int>(file_.proxies.size());
    count(shape_, file_.program, [](const PeerInstruction& i) { return to_string(i.opcode); });
    for (const PeerRank& rank : file_.program.ranks) shape_.counters += rank.counters;
  }

  const ProgramShape& shape() const override { return shape_; }

  // A plan whose only fault is the order of its reads and writes is reported as such: it is correct on GPUs
  // that keep the orders which the memory model leaves open, or where proxies are done before the next launch
  // begins. It is verified again with these.
  ProgramVerdict verdict(bool) const override {
    PeerVerifierOptions options{.packets = file_.packets, .proxies = file_.proxies};
    Verification<PeerProgram> verification = verify(file_.collective, file_.program, options);
    accepted_ = std::move(verification.accepted);
    if (!verification.fault) return {};
    ProgramVerdict verdict{.fault = verification.fault->words};
    const char* const relaxed = "relaxed signals order data";
    for (const auto& [orders, waits, condition] :
         {std::tuple(true, false, std::string(relaxed)),
          {false, true, "launches wait for proxies"},
          {true, true, fmt::format("{}, and launches wait for proxies", relaxed)}}) {
      if (waits && file_.proxies.empty()) break;
      options.relaxed_orders = orders;
      options.proxies = waits ? decltype(options.proxies)() : file_.proxies;
      const std::vector<Fault> more = violations(file_.collective, file_.program, options, 1);
      if (more.empty()) return {.fault = verdict.fault, .condition = condition};
      verdict.fault = more.front().words;
    }
    return verdict;
  }

  ProgramTime time(const Topology& topology, double block_bytes, int) const override {
    return program_time(file_.program, topology, block_bytes);
  }

  std::vector<RunRow> run(const RunOptions& options, bool, int) const override {
    // A plan states itself whether it is in place, so the mode and the depth of queues mean nothing here.
    if (!accepted_) verdict(false);
    return with_busbw(run_peers_on_threads(accepted_.value(), options, {.segment_bytes = 0}),
                      file_.collective);
  }

 private:
  const MscclppFile file_;
  ProgramShape shape_ = {};
  mutable std::optional<Verified<PeerProgram>> accepted_ = {};  // by verdict()
};

}  // namespace

// Plans and block programs are both JSON; the fields of a plan distinguish it.
std::unique_ptr<LoweredProgram> lowered_program(std::string_view text, const std::string& file,
                                                const PromisedOf& promised) {
  if (!is_xml(text) && is_mscclpp_plan(text, file))
    return std::make_unique<SharedMemoryProgram>(mscclpp_from_json(text, file, 64, promised));
  return std::make_unique<QueuedProgram>(read_blocks(text, file, promised));
}

}  // namespace chorale
