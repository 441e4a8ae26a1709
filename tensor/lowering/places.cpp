// A tensor's home is the tensor in whose memory it lies: an input that it updates, or itself. Of it all names
// of addresses are made. Where an AllGather or Broadcast can begin with what a loop stores, the loop stores
// there (in_place_), if the algorithm leaves that part alone (ExchangeRows::in_place).
#include "tensor/lowering/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/epilogue_source.h"
#include "ir/agreement.h"
#include "ir/error.h"
#include "semantics/verify_program.h"
#include "tensor/lowering/names.h"

namespace chorale {

// The program is verified, so what is in a slot is known to be right, and only its identity has to be
// tracked: which block, and whether it is a complete sum. The verifier determines which operation completes a
// sum (`completions`); messages and copies hand it on. The first moment at which a rank has the whole sum is
// one for each chunk and rank, by its being the first: so a function that keeps state with the elements of a
// slice is applied once to each, whatever the algorithm. The operation that completes a sum applies it with
// its last operand in registers; where a complete sum comes by message, it is applied as the message is read.
//
// What a message brings is lent (`borrows`) if all that reads it is sums of the same step, and it is stored
// over, or never read, afterwards.
namespace {

struct Content {
  int block = 0, piece = 0;
  bool whole = false;  // has each rank contributed?
};
using Where = std::tuple<Rank, int, int>;  // rank, buffer, slot

// With the position of its chunk at each operation that completes a sum, as if a function were applied there.
Program with_completions(const Verified<Program>& verified) {
  Program program = *verified;
  for (const Completion& each : completions(verified.topology(), verified.collective(), program))
    program.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  return program;
}

// A symbolic run of the tables: in each step first the messages, then the work of the ranks. Work is listed
// anew, since the function adds rows and copies that are not read are left out.
class ContentRun {
 public:
  ContentRun(const Collective& collective, const Program& program, bool applies)
      : collective_(collective), applies_(applies), rows_(step_rows(program)) {
    rows_.adds_once = adds_once(collective);
    for (const ChunkSpec& chunk : collective.chunks)
      for (const Rank n : chunk.pre)
        slots_[{n, 0, chunk.input}] = {block(chunk), chunk.input % pieces(), collective.ranks == 1};
  }

  ExchangeRows rows() {
    run();
    for (StepMessage& message : rows_.messages) message.borrows = may_borrow(message);
    const bool in_place = stays_in_place();
    return {std::move(rows_), in_place};
  }

 private:
  int pieces() const { return collective_.chunks_per_block; }
  int block(const ChunkSpec& chunk) const {
    return (collective_.kind == CollectiveKind::Allgather ? chunk.output : chunk.input) / pieces();
  }
  bool is_for(const Content& content, Rank n) const {
    return collective_.kind == CollectiveKind::ReduceScatter ? content.block == n : collective_.root == n;
  }
  // A sum that this rank waits for has come to be in a slot; is it the first time?
  bool is_first(const Content& content, Rank n) {
    return applies_ && content.whole && is_for(content, n) &&
           had_.insert({n, content.block, content.piece}).second;
  }
  bool was_had(const Content& content, Rank n) const {
    return applies_ && content.whole && had_.contains({n, content.block, content.piece});
  }

  void run() {
    const std::vector<StepWork> all = std::exchange(rows_.work, {});
    auto message = rows_.messages.begin();
    auto row = all.begin();
    for (int s = 0; s < rows_.steps; ++s) {
      const auto first = message;
      for (; message != rows_.messages.end() && message->step == s; ++message) {
        const Where src{message->from, message->from_buffer, message->from_slot};
        message->block = slots_.at(src).block;
        reads(src);
      }
      arrive(first, message);
      for (; row != all.end() && row->step == s; ++row) work(*row);
    }
  }

  // All messages of a step leave before any of them comes.
  void arrive(std::vector<StepMessage>::const_iterator first, std::vector<StepMessage>::const_iterator last) {
    // A slot may be read by a message and overwritten by another in one step: contents are taken before any
    // is put.
    std::vector<std::pair<Where, Content>> arrived;
    for (auto m = first; m != last; ++m)
      arrived.emplace_back(Where{m->to, m->to_buffer, m->to_slot},
                           slots_.at({m->from, m->from_buffer, m->from_slot}));
    for (const auto& [place, content] : arrived) {
      slots_[place] = content;
      completed_.erase(place);
    }
    for (auto m = first; m != last; ++m) {
      const auto& [place, content] = arrived[m - first];
      if (!is_first(content, m->to)) continue;
      completed_[place] = static_cast<int>(rows_.work.size());
      rows_.work.push_back({m->to, m->step, 0, m->to_buffer, m->to_slot, m->to_buffer, m->to_slot,
                            content.block, m->piece, 1});
    }
  }

  void work(StepWork row) {
    const Where from{row.rank, row.from_buffer, row.from_slot}, to{row.rank, row.to_buffer, row.to_slot};
    Content content = slots_.at(from);
    if (row.add != 0) content.whole = row.completes != 0;
    // The consumer of the sum has had it; another copy would not be read.
    if (row.add == 0 && row.to_buffer == 1 && was_had(content, row.rank)) {
      slots_[to] = content;
      return;
    }
    reads(from);
    if (row.add != 0) reads(to);
    row.block = content.block;
    row.completes = is_first(content, row.rank) ? 1 : 0;
    slots_[to] = content;
    completed_.erase(to);
    if (row.completes != 0) completed_[to] = static_cast<int>(rows_.work.size());
    rows_.work.push_back(row);
  }

  // A sum that was given to the function is read after all: it is stored, too.
  void reads(const Where& place) {
    if (const auto it = completed_.find(place); it != completed_.end()) rows_.work[it->second].completes = 2;
  }

  // What is done with a slot after a message has come into it, in order.
  bool may_borrow(const StepMessage& message) const {
    const int n = message.to, buffer = message.to_buffer, slot = message.to_slot;
    const auto onto = [&](const StepWork& w) { return w.to_buffer == buffer && w.to_slot == slot; };
    const auto from = [&](const StepWork& w) { return w.from_buffer == buffer && w.from_slot == slot; };
    for (const StepWork& w : rows_.work)
      if (w.rank == n && w.step == message.step && onto(w)) return w.completes == 1 || w.add != 0 || !from(w);
    // Then the steps after it: messages leave before others come, and sums are last.
    for (int s = message.step + 1; s < rows_.steps; ++s) {
      for (const StepMessage& m : rows_.messages)
        if (m.step == s && m.from == n && m.from_buffer == buffer && m.from_slot == slot) return false;
      for (const StepMessage& m : rows_.messages)
        if (m.step == s && m.to == n && m.to_buffer == buffer && m.to_slot == slot) return true;
      for (const StepWork& w : rows_.work) {
        if (w.rank != n || w.step != s) continue;
        if (from(w) || (onto(w) && w.add != 0)) return false;
        if (onto(w)) return true;
      }
    }
    return buffer == 2 || applies_;
  }

  // Of Allgather and Broadcast: into an output of what the rank had before, only a copy of that.
  bool stays_in_place() const {
    const bool gathers = collective_.kind == CollectiveKind::Allgather;
    if (!gathers && collective_.kind != CollectiveKind::Broadcast) return false;
    const auto own = [&](Rank n, int slot) { return gathers ? slot / pieces() == n : n == collective_.root; };
    for (const StepMessage& m : rows_.messages)
      if (m.to_buffer == 1 && own(m.to, m.to_slot)) return false;
    return std::ranges::all_of(rows_.work, [&](const StepWork& w) {
      return w.to_buffer != 1 || !own(w.rank, w.to_slot) || (w.add == 0 && w.from_buffer == 0);
    });
  }

  const Collective& collective_;
  const bool applies_;
  StepRows rows_;  // of work: those of steps that have run
  std::map<Where, Content> slots_ = {};
  std::set<std::tuple<Rank, int, int>> had_ = {};  // rank, block, piece
  std::map<Where, int> completed_ = {};            // slots with sums that the function has had: by which work
};

}  // namespace

OrError<ExchangeRows> exchange_rows(const std::string& where, const Verified<Program>& program,
                                    bool applies) {
  const Collective& collective = program.collective();
  const auto refuse = [&](const std::string& problem) {
    return InputError(where,
                      fmt::format("{} cannot be done by this program: {}", name_of(collective), problem),
                      "give it a program that was lowered for it");
  };
  if (program->in_place) return refuse("its input and output are in one memory");
  if (collective.order.kind == SumOrder::Kind::Free)
    return refuse("its ranks may end with different bits; search again without --allow-disagreement");
  if (applies && collective.kind != CollectiveKind::ReduceScatter &&
      collective.kind != CollectiveKind::Reduce)
    return refuse("sums are for one rank in reduce and reducescatter alone");
  return ContentRun(collective, applies ? with_completions(program) : *program, applies).rows();
}

// Collectives of tensor programs have names and kinds of their own: Send and AllToAllV are among them, Gather
// and Scatter are not. A table translates where both have one.
namespace {

constexpr std::array<std::pair<OperationKind, CollectiveKind>, 6> kCollectives = {{
    {OperationKind::AllReduce, CollectiveKind::AllReduce},
    {OperationKind::ReduceScatter, CollectiveKind::ReduceScatter},
    {OperationKind::AllGather, CollectiveKind::Allgather},
    {OperationKind::Reduce, CollectiveKind::Reduce},
    {OperationKind::Broadcast, CollectiveKind::Broadcast},
    {OperationKind::AllToAll, CollectiveKind::Alltoall},
}};

}  // namespace

// Requires one of the table: has_algorithm() says so of an operation.
CollectiveKind collective_of(OperationKind kind) {
  return std::ranges::find(kCollectives, kind, &std::pair<OperationKind, CollectiveKind>::first)->second;
}
OperationKind operation_of(CollectiveKind kind) {
  return std::ranges::find(kCollectives, kind, &std::pair<OperationKind, CollectiveKind>::second)->first;
}

// AllReduces of scalars that a kernel joins are one message, so only the first needs an algorithm. One chunk
// per block: the algorithm may have any number.
std::vector<NeededCollective> needed_collectives(const Workload& workload) {
  std::vector<NeededCollective> needed;
  std::string kernel;  // of scalars that are summed in one message, which the first of them stands for
  for (const Operation& op : workload.operations) {
    if (!has_algorithm(op.kind)) continue;
    if (op.kind == OperationKind::AllReduce && !op.kernel.empty() && op.kernel == kernel) continue;
    kernel = op.kernel;
    const TensorType& type = operation(workload, op.operands[0]).type;
    const int root = op.kind == OperationKind::Reduce      ? op.type.layout.root
                     : op.kind == OperationKind::Broadcast ? type.layout.root
                                                           : 0;
    const Scope scope = scope_of(workload, op);
    needed.push_back(
        {op.name, make_collective(collective_of(op.kind), ranks_in(workload, scope), 1, root), scope});
  }
  return needed;
}

namespace {

using Kind = OperationKind;

bool is_gather(const Operation& op) {
  return op.kind == Kind::AllGather || op.kind == Kind::Broadcast;
}

}  // namespace

// Of what a rank knows without any communication.
std::string printed_constant(const Operation& op) {
  return op.kind == Kind::Rank    ? "rank_ % kGroupRanks"
         : op.kind == Kind::Group ? "rank_ / kGroupRanks"
         : op.kind == Kind::Ranks ? "kRanks"
                                  : fmt::format("static_cast<std::int32_t>(s.{})", identifier(op.name));
}

// The first fault stays, and is asked for by error().
WorkloadPlaces::WorkloadPlaces(const Workload& workload, const std::vector<WorkloadAlgorithm>& algorithms,
                               std::string name, Execution execution)
    : workload_(workload), name_(std::move(name)), execution_(std::move(execution)), stages_(workload) {
  for (const NeededCollective& needed : needed_collectives(workload))
    if ((error_ = take(needed, algorithms))) return;
}

// An AllReduce may have an algorithm of another kind that is one to its caller, by gathering and local sums
// (row_of(...).result).
MaybeError WorkloadPlaces::take(const NeededCollective& needed,
                                const std::vector<WorkloadAlgorithm>& algorithms) {
  const Collective& a = needed.collective;
  const auto given = std::ranges::find(algorithms, needed.operation, &WorkloadAlgorithm::operation);
  if (given == algorithms.end())
    return InputError(workload_.name, fmt::format("{} has no algorithm", needed.operation),
                      fmt::format("give it one for {} among {} ranks", name_of(a), a.ranks));
  const Collective& b = given->program.collective();
  if (row_of(b.kind).result != a.kind || a.ranks != b.ranks || a.root != b.root)
    return InputError(workload_.name,
                      fmt::format("{} is {} among {} ranks, and its algorithm {} among {}", needed.operation,
                                  name_of(a), a.ranks, name_of(b), b.ranks),
                      "give it one for its collective, ranks and root");
  const Operation& op = operation(workload_, needed.operation);
  const bool sums = !stages_.all()[stages_.stage_of(op.name)].loop.empty();
  OrError<ExchangeRows> rows =
      exchange_rows(fmt::format("{}: {}", workload_.name, op.name), given->program, sums);
  if (!rows) return rows.error();
  if (is_gather(op) && !stages_.made_in_place(op.name).empty() && rows->in_place)
    in_place_[stages_.made_in_place(op.name)] = op.name;
  algorithm_[op.name] = &*given;
  rows_[op.name] = *std::move(rows);
  return {};
}

// A loop over slices reads a replicated tensor at the index in the whole, a slice at that in the slice.
LoopPlace WorkloadPlaces::read_at(const std::string& name, const TensorType& space) const {
  const Operation& op = operation(workload_, behind(name));
  if (by_value(op)) return {"tensors." + identifier(op.name), PlaceKind::Value};
  if (is_constant(op.kind)) return {printed_constant(op), PlaceKind::Value};
  const bool whole = space.layout.kind == LayoutKind::Sliced && op.type.layout.kind == LayoutKind::Replicated;
  return {pointer(op.name), whole ? PlaceKind::Whole : PlaceKind::Own, is_scattered(op.name)};
}

// Where the gathering that follows begins: of a Broadcast the whole tensor, of slices along the first
// dimension this rank's place in it, of others its block beside.
LoopPlace WorkloadPlaces::stored_at(const std::string& name) const {
  const auto it = in_place_.find(name);
  if (it == in_place_.end()) return {pointer(name), PlaceKind::Own, is_scattered(name)};
  const Operation& gather = operation(workload_, it->second);
  if (gather.kind == Kind::Broadcast)
    return {pointer(gather.name), PlaceKind::Own, is_scattered(gather.name)};
  if (is_packed(gather))
    return {fmt::format("({} + own_{})", packed(gather.name), gather.name), PlaceKind::Own};
  return {pointer(gather.name), PlaceKind::Whole, is_scattered(gather.name)};
}

std::string WorkloadPlaces::sides(const TensorShape& shape) const {
  return printed_sides(shape);
}
std::string WorkloadPlaces::part(const std::string& name) const {
  return fmt::format("has_{}", name);
}

bool WorkloadPlaces::is_updated(const std::string& input) const {
  return std::ranges::any_of(workload_.operations, [&](const Operation& op) { return op.updates == input; });
}
bool WorkloadPlaces::is_output(const std::string& name) const {
  return std::ranges::count(workload_.outputs, name) > 0;
}
// An input scalar that nothing updates needs no memory.
bool WorkloadPlaces::by_value(const Operation& op) const {
  return op.kind == Kind::Input && op.type.shape.empty() && !is_updated(op.name);
}
// By the caller: inputs, and outputs that are not in an input.
bool WorkloadPlaces::is_given_memory(const Operation& op) const {
  return op.kind == Kind::Input || (is_output(op.name) && op.updates.empty());
}
// What is neither the caller's nor a constant, nor lies in an input or a gathering.
bool WorkloadPlaces::is_own_memory(const Operation& op) const {
  const bool own = stages_.is_stored(op.name) && !is_given_memory(op) && !is_constant(op.kind) &&
                   op.updates.empty() && !in_place_.contains(op.name);
  // A sum that goes to its loop nevertheless needs memory for its parts.
  return own || (rows_.contains(op.name) && !stages_.is_stored(op.name));
}
// Views lie in what they are of, updates in what they update.
std::string WorkloadPlaces::home(const std::string& name) const {
  const Operation& op = operation(workload_, behind(name));
  if (op.kind == Kind::Reshape && !is_stored(op.name)) return home(op.operands[0]);
  return op.updates.empty() ? op.name : op.updates;
}
bool WorkloadPlaces::is_scattered(const std::string& name) const {
  return operation(workload_, home(name)).scattered;
}
// Noted and not thrown: the printing goes on to its end.
void WorkloadPlaces::require_together(const std::string& name, const std::string& reader) const {
  if (is_scattered(name) && !error_)
    error_ = InputError(workload_.name,
                        fmt::format("{} is scattered, and {} needs it in one piece", home(name), reader),
                        "let a pointwise operation read it, or a collective");
}
// Of a slice that is a view, its first element in the whole.
std::string WorkloadPlaces::first_of(const std::string& name) const {
  return behind(name) == name ? pointer(name) : begun_at(behind(name), name);
}
std::string WorkloadPlaces::begun_at(const std::string& whole, const std::string& slice) const {
  if (!is_scattered(whole)) return fmt::format("{} + has_{}.first()", pointer(whole), slice);
  return fmt::format("chorale::BufferView<{}>({}, has_{}.first())",
                     c_type(operation(workload_, whole).type.element), pointer(whole), slice);
}

// A ReduceScatter is cut as its result is, all others as what they move.
const TensorLayout& WorkloadPlaces::slicing(const Operation& op) const {
  return op.kind == Kind::ReduceScatter ? op.type.layout : moved(op).layout;
}
// Slices along the first dimension lie together; others go through memory beside the tensor.
bool WorkloadPlaces::is_packed(const Operation& op) const {
  return (op.kind == Kind::ReduceScatter || op.kind == Kind::AllGather) && slicing(op).dim > 0;
}
std::string WorkloadPlaces::packed(const std::string& name) {
  return fmt::format("packed_{}_.get()", name);
}
// Across groups ranks have equal parts: one block. Sums of scalars have one element each. AllReduce, Reduce
// and Broadcast have one block, which the program's chunks cut.
std::string WorkloadPlaces::blocks_of(const Operation& op) const {
  const std::string whole = printed_sides(moved(op).shape);
  const int ranks = peers(op);
  if (op.over == Scope::Across) return fmt::format("chorale::Blocks{{0, has_{}.elements()}}", op.name);
  if (slicing(op).kind == LayoutKind::Sliced)
    return fmt::format("chorale::blocks_of({}, {}, {})", whole, slicing(op).dim, ranks);
  if (op.kind == Kind::AllToAll) return fmt::format("chorale::even_blocks({}, {})", whole, ranks);
  if (const auto& scalars = stages_.all()[stages_.stage_of(op.name)].scalars; !scalars.empty())
    return fmt::format("chorale::Blocks{{0, {}}}", scalars.size());
  return fmt::format("chorale::Blocks{{0, chorale::product({})}}", whole);
}

}  // namespace chorale
