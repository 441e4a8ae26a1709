// The type of one operation, by its rule (tensor/language/operation_forms.h), with what all rules have in common:
// operands that are there, as many as the kind takes, and a result that is not too large.
#include "tensor/language/infer.h"

#include <fmt/format.h>

#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/words.h"
#include "tensor/language/operation_forms.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

// What each group has all of, and the same.
// Levels make such tensors: a ReduceScatter in each group, an AllReduce across groups and an AllGather in
// each leave all ranks of the world with the same, which is then typed as if it had been made in one.
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
  const OperationForm& form = form_of(operation.kind);
  const int takes = operand_count(form);
  if (takes >= 0 && takes != static_cast<int>(operation.operands.size()))
    return typing.fail(fmt::format("{} takes {}, and not {}", to_string(operation.kind),
                                   counted(takes, "tensor"), operation.operands.size()));
  OrError<TensorType> result = form.type(typing);
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
