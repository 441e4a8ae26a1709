// Kinds of operations are in an order that classifies them: given ones first (up to Size), communications
// last (from AllReduce on). The texts are those that the parser reads.
#include "tensor/language/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

namespace chorale {

const Operation* find(const Workload& workload, std::string_view name) {
  const auto it = std::ranges::find(workload.operations, name, &Operation::name);
  return it == workload.operations.end() ? nullptr : &*it;
}

const Operation& operation(const Workload& workload, std::string_view name) {
  const Operation* const found = find(workload, name);
  assert(found != nullptr);
  return *found;
}

bool is_communication(OperationKind kind) {
  return kind >= OperationKind::AllReduce;
}

bool has_algorithm(OperationKind kind) {
  return is_communication(kind) && kind != OperationKind::Send && kind != OperationKind::AllToAllV;
}

// The order of OperationKind: Input, then RANK to Size, which are constants, then what computes.
bool is_constant(OperationKind kind) {
  return is_given(kind) && kind != OperationKind::Input;
}

bool is_given(OperationKind kind) {
  return kind <= OperationKind::Size;
}

bool is_product(OperationKind kind) {
  return kind == OperationKind::MatMul || kind == OperationKind::Convolution;
}

bool is_put_in_place(const Operation& operation) {
  return operation.kind == OperationKind::PutRows && operation.operands[0] == operation.updates &&
         std::ranges::count(operation.operands, operation.updates) == 1;
}

bool is_reduction(OperationKind kind) {
  return kind == OperationKind::ReduceTensor || kind == OperationKind::ReduceAlong;
}

bool goes_along(OperationKind kind) {
  return kind >= OperationKind::ScanAlong && kind <= OperationKind::TakeAlong;
}

std::int64_t elements(const TensorType& type) {
  std::int64_t count = 1;
  for (const Extent& extent : type.shape) count *= extent.value;
  return count;
}

int ranks_of(const Workload& workload, const TensorType& type) {
  return ranks_in(workload, type.scope);
}

// A communication is among the ranks that its operand is spread over, unless it names others.
Scope scope_of(const Workload& workload, const Operation& op) {
  if (op.over != Scope::World) return op.over;
  const bool by_operand = is_communication(op.kind) && op.kind != OperationKind::AllToAllV;
  return by_operand ? operation(workload, op.operands[0]).type.scope : op.type.scope;
}

// World: all; Group: those of one; Across: one of each group.
int ranks_in(const Workload& workload, Scope scope) {
  return scope == Scope::World   ? workload.ranks * workload.groups
         : scope == Scope::Group ? workload.ranks
                                 : workload.groups;
}

// "4*H", "H", "64", "3*D/2"; a factor or divisor of 1 is left out.
std::string to_string(const Extent& extent) {
  if (extent.sizes.empty()) return std::to_string(extent.factor);
  return fmt::format("{}{}{}", extent.factor == 1 ? "" : fmt::format("{}*", extent.factor),
                     fmt::join(extent.sizes, "*"),
                     extent.divisor == 1 ? "" : fmt::format("/{}", extent.divisor));
}

std::string to_string(const TensorShape& shape) {
  std::vector<std::string> sides;
  for (const Extent& extent : shape) sides.push_back(to_string(extent));
  return fmt::format("[{}]", fmt::join(sides, ", "));
}

std::string to_string(const TensorLayout& layout) {
  switch (layout.kind) {
    case LayoutKind::Replicated:
      return "Replicated";
    case LayoutKind::Local:
      return "Local";
    case LayoutKind::Rooted:
      return fmt::format("Rooted({})", layout.root);
    case LayoutKind::Sliced:
      break;
  }
  return layout.dim == kFlat ? "Sliced(flat)" : fmt::format("Sliced({})", layout.dim);
}

// "fp16[B, H] Sliced(0)"; of a group "... GROUP", and "... EACH GROUP" where every group has the same.
std::string to_string(const TensorType& type) {
  return fmt::format("{}{} {}{}", short_name(type.element), to_string(type.shape), to_string(type.layout),
                     type.each                    ? " EACH GROUP"
                     : type.scope == Scope::Group ? " GROUP"
                                                  : "");
}

// In the order of the enumeration.
std::string to_string(OperationKind kind) {
  static constexpr const char* kNames[] = {
      "Tensor",      "RANK",        "GROUP",        "WORLD",       "size",          "Pointwise",
      "MatMul",      "Convolution", "ReduceTensor", "ReduceAlong", "ScanAlong",     "TopK",
      "TakeAlong",   "Transpose",   "Reshape",      "Narrow",      "Concat",        "GatherRows",
      "ScatterRows", "PutRows",     "Slice",        "AllReduce",   "ReduceScatter", "AllGather",
      "Reduce",      "Broadcast",   "AllToAll",     "AllToAllV",   "Send"};
  return kNames[static_cast<int>(kind)];
}

std::string short_name(ElementType type) {
  return word_for(kElementWords, type);
}

}  // namespace chorale
