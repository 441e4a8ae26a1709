// State that is kept in slices, and operations that are not needed. Where a state m is stored by
//   m_ = Update(m, AllGather(s_m_))
// asSlice(m) declares m as s_m_ is sliced, s_m_ updates it, and the gather is gone.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

// The layout of the tensor that a reader uses only a slice of, by how dimensions are aligned when it is
// broadcast. Replicated: it uses everything.
// A pointwise operation on slices reads the tensor at its own elements only; where the tensor has a side
// of 1 along the slices, or none, every rank needs all of it.
TensorLayout layout_in(const Operation& reader, const Operation& tensor) {
  if (reader.kind == OperationKind::Slice) return reader.layout;
  const TensorLayout all = {};
  if (reader.kind != OperationKind::Pointwise) return all;
  TensorLayout layout = reader.type.layout;
  if (layout.kind == LayoutKind::Local) return all;
  if (layout.kind != LayoutKind::Sliced) return layout;
  const auto values = [](const Operation& operation) {
    std::vector<std::int64_t> result;
    for (const Extent& extent : operation.type.shape) result.push_back(extent.value);
    return result;
  };
  const std::vector<std::int64_t> whole = values(reader), part = values(tensor);
  if (whole == part) return layout;
  layout.dim -= static_cast<int>(whole.size() - part.size());
  return layout.dim >= 0 && part[layout.dim] != 1 ? layout : all;
}

const Operation* updater(const Workload& workload, const std::string& input) {
  const auto it = std::ranges::find(workload.operations, input, &Operation::updates);
  return it == workload.operations.end() ? nullptr : &*it;
}

// The state as the slices are which are stored in it, or else read of it.
// From the update if there is one: what is stored decides. Else from the first reader that uses slices;
// others that use more are found by retyped() in the end.
OrError<TensorType> type_of_slices(const Workload& workload, const Operation& state,
                                   const std::string& where) {
  const auto laid_out_as = [&](const TensorLayout& layout, const TensorType& slices) {
    TensorType type = state.type;
    type.layout = normal(layout, static_cast<int>(type.shape.size()));
    if (slices.each) type.scope = Scope::Group, type.last_group = slices.last_group, type.each = true;
    return type;
  };
  if (const Operation* const update = updater(workload, state.name); update != nullptr) {
    if (update->kind != OperationKind::AllGather && update->kind != OperationKind::Broadcast)
      return InputError(where, fmt::format("{} updates it with all elements", update->name),
                        "reorder makes an AllGather of slices of it");
    if (auto error = check_alone(*update, where)) return *error;
    if (const auto all = readers(workload, update->name); !all.empty())
      return InputError(where, fmt::format("{} reads all of {}", all.front(), update->name),
                        "reorder moves the AllGather behind it");
    const TensorType& slices = operation(workload, update->operands[0]).type;
    return laid_out_as(slices.layout, slices);
  }
  for (const std::string& reader : readers(workload, state.name))
    if (const TensorLayout layout = layout_in(operation(workload, reader), state);
        layout.kind != LayoutKind::Replicated)
      return laid_out_as(layout, operation(workload, reader).type);
  return InputError(where, "nothing is a slice of it", "reorder makes slices");
}

void rename_operand(Workload& workload, const std::string& from, const std::string& to) {
  for (Operation& operation : workload.operations) std::ranges::replace(operation.operands, from, to);
  std::ranges::replace(workload.outputs, from, to);
}

void erase_operation(Workload& workload, const std::string& name) {
  workload.operations.erase(workload.operations.begin() + place(workload, name));
}

}  // namespace

// The gather that updated the state is gone, and the slices update it; Slices that were read of it become
// the state itself. The final inference is the proof: no operation but the input may change its type.
OrError<Workload> as_slice(const Workload& workload, const std::string& input) {
  const std::string where = "asSlice " + input;
  const OrError<const Operation*> named = operation_for(workload, input, where);
  if (!named) return named.error();
  const Operation& state = **named;
  if (state.kind != OperationKind::Input || !state.state)
    return InputError(where, "it is not the program's own state, so that others give it its layout",
                      "an input is, that is declared with \"state\" behind it");
  if (state.type.layout.kind != LayoutKind::Replicated)
    return InputError(where, fmt::format("it is {} already", to_string(state.type.layout)));

  OrError<TensorType> sliced_type = type_of_slices(workload, state, where);
  if (!sliced_type) return sliced_type.error();
  Workload result = workload;
  result.operations[place(workload, input)].type = *sliced_type;
  if (const Operation* const update = updater(workload, input); update != nullptr) {
    Operation& sliced = result.operations[place(workload, update->operands[0])];
    if (!sliced.updates.empty())
      return InputError(where, fmt::format("{} updates {} already", sliced.name, sliced.updates));
    sliced.updates = input;
    erase_operation(result, update->name);
    rename_operand(result, update->name, update->operands[0]);
  }
  for (const std::string& reader : readers(workload, input))
    if (const Operation& slice = operation(workload, reader);
        slice.kind == OperationKind::Slice && !is_output(workload, reader) && slice.type == *sliced_type) {
      erase_operation(result, reader);
      rename_operand(result, reader, input);
    }

  OrError<Workload> typed = inferred(std::move(result), where);
  if (!typed) return typed;
  for (const std::string& name : retyped(workload, *typed))
    if (name != input)
      return InputError(where,
                        fmt::format("{} would be {}, since it uses more than slices in {}", name,
                                    to_string(operation(*typed, name).type), to_string(sliced_type->layout)),
                        "reorder moves an AllGather behind it");
  return typed;
}

// An update has an effect without a reader, so it is never dead.
OrError<Workload> dead(const Workload& workload, const std::string& name) {
  const std::string where = "dead " + name;
  const OrError<const Operation*> named = operation_for(workload, name, where);
  if (!named) return named.error();
  const Operation& unread = **named;
  if (unread.kind == OperationKind::Input) return InputError(where, "it is an input, which others give");
  if (const auto names = readers(workload, name); !names.empty())
    return InputError(where, fmt::format("{} reads it", names.front()));
  if (is_output(workload, name)) return InputError(where, "it is an output");
  if (!unread.updates.empty())
    return InputError(where, fmt::format("it updates {}", unread.updates),
                      "asSlice makes the update one of slices");
  Workload result = workload;
  erase_operation(result, name);
  return rewritten(workload, std::move(result), where);
}

}  // namespace chorale
