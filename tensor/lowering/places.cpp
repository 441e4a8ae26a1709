// A tensor's home is the tensor in whose memory it lies: an input that it updates, or itself. Of it all names
// of addresses are made. Where an AllGather or Broadcast can begin with what a loop stores, the loop stores
// there (in_place_), if the algorithm leaves that part alone (ExchangeRows::in_place).
#include "tensor/lowering/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/epilogue_source.h"
#include "ir/error.h"
#include "tensor/lowering/names.h"

namespace chorale {
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
