#include "workload/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/words.h"
#include "workload/typing.h"

namespace chorale {
namespace {

// How many operands a kind takes; -1: any number.
int operand_count(OperationKind kind) {
  switch (kind) {
    case OperationKind::Input:
    case OperationKind::Rank:
    case OperationKind::Group:
    case OperationKind::Ranks:
    case OperationKind::Size:
      return 0;
    case OperationKind::Pointwise:
    case OperationKind::Concat:
      return -1;
    case OperationKind::MatMul:
    case OperationKind::Convolution:
    case OperationKind::GatherRows:
    case OperationKind::ScatterRows:
    case OperationKind::AllToAllV:
      return 2;
    default:
      return 1;
  }
}

OrError<TensorType> size_type(const Typing& typing) {
  const std::vector<WorkloadSize>& sizes = typing.workload.sizes;
  const auto size = std::ranges::find(sizes, typing.operation.name, &WorkloadSize::name);
  if (size == sizes.end()) return typing.fail("there is no size of that name", "declare it");
  if (size->value > std::numeric_limits<std::int32_t>::max())
    return typing.fail(fmt::format("{} is too large for an int32 number", size->value),
                       "as a number, 2^31 - 1 is the most");
  return TensorType{.element = ElementType::Int32};
}

OrError<TensorType> type_by_rules(const Typing& typing) {
  switch (typing.operation.kind) {
    case OperationKind::Input:
      return input_type(typing);
    case OperationKind::Rank:
    case OperationKind::Group:
      return TensorType{.element = ElementType::Int32, .layout = {.kind = LayoutKind::Local}};
    case OperationKind::Ranks:
      return TensorType{.element = ElementType::Int32};
    case OperationKind::Size:
      return size_type(typing);
    case OperationKind::Pointwise:
      return pointwise_type(typing);
    case OperationKind::MatMul:
      return matmul_type(typing);
    case OperationKind::Convolution:
      return convolution_type(typing);
    case OperationKind::ReduceTensor:
      return reduce_tensor_type(typing);
    case OperationKind::ReduceAlong:
      return reduce_along_type(typing);
    case OperationKind::Transpose:
      return transpose_type(typing);
    case OperationKind::Reshape:
      return reshape_type(typing);
    case OperationKind::Narrow:
      return narrow_type(typing);
    case OperationKind::Concat:
      return concat_type(typing);
    case OperationKind::GatherRows:
      return gather_rows_type(typing);
    case OperationKind::ScatterRows:
      return scatter_rows_type(typing);
    case OperationKind::Slice:
      return slice_type(typing);
    case OperationKind::AllReduce:
      return all_reduce_type(typing);
    case OperationKind::ReduceScatter:
      return reduce_scatter_type(typing);
    case OperationKind::AllGather:
      return all_gather_type(typing);
    case OperationKind::Reduce:
      return reduce_type(typing);
    case OperationKind::Broadcast:
      return broadcast_type(typing);
    case OperationKind::AllToAll:
      return all_to_all_type(typing);
    case OperationKind::AllToAllV:
      return all_to_all_v_type(typing);
    case OperationKind::Send:
      return send_type(typing);
  }
  return typing.operation.type;
}

}  // namespace

namespace {

// What each group has all of, and the same.
TensorType of_the_world_if_all(const Workload& workload, TensorType type) {
  const bool all = type.each && type.layout.kind == LayoutKind::Replicated && type.first_group == 0 &&
                   type.last_group == workload.groups - 1;
  if (all) type.scope = Scope::World, type.last_group = 0, type.each = false;
  return type;
}

}  // namespace

OrError<TensorType> inferred_type(const Workload& workload, const Operation& operation,
                                  const std::string& where) {
  Typing typing{workload, operation, where};
  if (operation.operands.size() > kMostOperands)
    return typing.fail(
        fmt::format("reads {} tensors; {} are the most", operation.operands.size(), kMostOperands),
        "make several statements of it");
  for (const std::string& name : operation.operands) {
    const Operation* const operand = find(workload, name);
    if (operand == nullptr || operand == &operation)
      return typing.fail(fmt::format("there is no '{}' before it", name), "declare or compute it first");
    typing.operands.push_back(&operand->type);
  }
  const int takes = operand_count(operation.kind);
  if (takes >= 0 && takes != static_cast<int>(operation.operands.size()))
    return typing.fail(fmt::format("{} takes {}, and not {}", to_string(operation.kind),
                                   counted(takes, "tensor"), operation.operands.size()));
  OrError<TensorType> result = type_by_rules(typing);
  if (result) *result = of_the_world_if_all(workload, *result);
  if (result && counted_elements(result->shape) < 0)
    return typing.fail(fmt::format("{} are too many elements", to_string(result->shape)),
                       fmt::format("{} are the most", kMostElements));
  return result;
}

// Integers give way to real numbers, and narrow ones to wide; neither of two floats of one length holds the
// other.
ElementType promoted(ElementType a, ElementType b) {
  if (a == b || b == ElementType::Int32) return a;
  if (a == ElementType::Int32) return b;
  if (size_of(a) != size_of(b)) return size_of(a) < size_of(b) ? b : a;
  return ElementType::Float32;
}

TensorLayout normal(TensorLayout layout, int dimensions) {
  if (layout.kind == LayoutKind::Sliced && layout.dim == kFlat && dimensions == 1) layout.dim = 0;
  return layout;
}

}  // namespace chorale
