// An AllGather moved behind operations that read it: f(AllGather(x)) = AllGather(f(x)) where f works on each
// slice by itself. (And Broadcast likewise, with the root's tensor in place of slices.) Behind m_, for
// example:
//   avg = AllGather(rs)                      s_m_ = 0.9 * m + 0.1 * rs
//   m_ = Update(m, 0.9 * m + 0.1 * avg)      m_ = Update(m, AllGather(s_m_))
//
// One pass down the list. `sliced_` maps names of the old program to the operation of the new one that has
// the slices; it begins with the gather itself, and what it gathers. An operation that is to be moved reads
// slices in place of operands that have them, and the rules of types (language/infer.h) say what comes out:
//   slices       it takes a new name, and an AllGather that follows has the old one, if an operation reads it
//   a partial    of a reduction to a scalar: an AllReduce that follows has the old name
//   what it was  it worked on slices before, of another gather, and goes on to
// An operation that the rules refuse cannot be sliced along. Replicated operands adapt by themselves: each
// rank reads its part. An operation that has nothing sliced to read, but is to be moved as well (the norm of
// weights beside that of updates), reads an explicit Slice of an operand.
//
// A kernel is moved as a whole, since its operations stay next to each other: gathers come after it, and what
// does not depend on the gather stays before it, under its old name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/typing.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

bool moves_elements(OperationKind kind) {
  return kind >= OperationKind::Transpose && kind <= OperationKind::GatherRows;
}
bool can_be_sliced(OperationKind kind) {
  return kind == OperationKind::Pointwise || is_product(kind) || is_reduction(kind) || moves_elements(kind) ||
         goes_along(kind) || kind == OperationKind::Send;
}

class Reordering {
 public:
  // `moved`: the places of the operations.
  Reordering(const Workload& before, const Operation& gather, const std::vector<std::string>& operations,
             const std::vector<int>& moved, const std::string& prefix, const std::string& where)
      : before_(before), gather_(gather), prefix_(prefix), where_(where), known_(before) {
    for (const int i : moved) moved_.insert(before.operations[i].name);
    by_name_ = {operations.begin(), operations.end()};
    sliced_[gather.name] = gather.operands[0];
    known_.operations.clear();
  }

  // `after` is built in the order of the old list, kernel by kernel. The gather itself is kept at first,
  // and leaves in the end if nothing reads it by name any more.
  OrError<Workload> result() {
    for (const std::string& name : moved_)
      if (auto error = check_movable(operation(before_, name))) return *error;
    Workload after = before_;
    after.operations.clear();
    for (const Operation& old : before_.operations) {
      if (old.kernel.empty() || old.kernel != kernel_) end_of_kernel(after);
      kernel_ = old.kernel;
      if (auto error = moved_.contains(old.name) ? move(old) : keep(old)) return *error;
    }
    end_of_kernel(after);
    if (const Operation& gather = operation(after, gather_.name); !is_wanted(after, gather))
      after.operations.erase(after.operations.begin() + place(after, gather_.name));
    return after;
  }

 private:
  MaybeError check_movable(const Operation& old) const {
    if (old.name == gather_.name) return InputError(where_, "it cannot be moved behind itself");
    if (!can_be_sliced(old.kind))
      return InputError(
          where_, fmt::format("{} is {}, behind which nothing can be moved", old.name, to_string(old.kind)),
          "Pointwise, ReduceTensor, ReduceAlong, ScanAlong, TopK, TakeAlong, MatMul, Convolution, Send, and "
          "what moves elements but ScatterRows and PutRows can be sliced");
    if (!old.overlap.empty())
      return InputError(where_, fmt::format("{} is overlapped in {}", old.name, old.overlap),
                        "overlap comes after this");
    return {};
  }

  // What stays may not read what is moved out of its own kernel.
  MaybeError keep(const Operation& old) {
    for (const std::string& operand : old.operands)
      if (!old.kernel.empty() && renamed_.contains(operand) &&
          operation(before_, operand).kernel == old.kernel)
        return InputError(where_,
                          fmt::format("{} stays, but is in the kernel {} with {}, which is moved", old.name,
                                      old.kernel, operand),
                          fmt::format("move {} as a whole", old.kernel));
    staying_.push_back(old);
    known_.operations.push_back(old);
    return {};
  }

  // The operation with slices in place of whole operands; what comes out decides (see the top of the
  // file). The whole one is made again under the old name, so that readers that stay need not change; it
  // is emitted only if there are such, but is known to the rules of types in any case.
  MaybeError move(const Operation& old) {
    Operation now = old;
    bool slices = false;
    for (std::string& operand : now.operands)
      if (const auto it = sliced_.find(operand); it != sliced_.end()) {
        operand = it->second;
        slices = true;
      }
    if (!slices) {
      const OrError<bool> sliced = slice_operand(now);
      if (!sliced) return sliced.error();
      if (!*sliced) return stays_whole(old);
    }

    const OrError<TensorType> type =
        inferred_type(known_, now, fmt::format("{}: {} of slices", where_, old.name));
    if (!type) return type.error();
    now.type = *type;
    if (now.type == old.type) {
      staying_.push_back(now);
      known_.operations.push_back(std::move(now));
      return {};
    }
    now.name = new_name(old.name);
    if (auto error = check_new_name(before_, now.name, where_)) return error;
    now.updates = {};
    Operation whole = {.name = old.name, .operands = {now.name}, .type = old.type, .updates = old.updates};
    if (old.type.layout.kind != LayoutKind::Replicated)
      return InputError(where_, fmt::format("{} is {}, and would become {}", old.name, to_string(old.type),
                                            to_string(now.type)));
    if (now.type.layout.kind == gathered().layout.kind) {
      whole.kind = gather_.kind;
      sliced_[old.name] = now.name;
    } else if (is_reduction(now.kind) && now.type.layout.kind == LayoutKind::Local) {
      whole.kind = OperationKind::AllReduce;
      whole.reduction = old.reduction;
      summed_.insert(old.name);
    } else {
      return InputError(where_, fmt::format("{} would become {}, which no {} makes whole", old.name,
                                            to_string(now.type), to_string(gather_.kind)));
    }
    renamed_.insert(old.name);
    if (!old.kernel.empty()) {
      now.kernel = new_name(old.kernel);
      if (auto error = check_new_name(before_, now.kernel, where_)) return error;
    }
    known_.operations.push_back(now);
    known_.operations.push_back(whole);
    moving_.push_back(std::move(now));
    if (whole.kind == OperationKind::AllReduce || is_read_outside(old)) wholes_.push_back(std::move(whole));
    return {};
  }

  // What reads only sums of slices is as it was, and so is what came along with its kernel.
  MaybeError stays_whole(const Operation& old) {
    const bool reads_moved = std::ranges::any_of(
        old.operands, [&](const std::string& operand) { return summed_.contains(operand); });
    if (!reads_moved && by_name_.contains(old.name))
      return InputError(
          where_, fmt::format("{} reads neither {} nor slices that are made of it", old.name, gather_.name),
          "of others only Replicated tensors of the same shape can be sliced along");
    if (reads_moved) summed_.insert(old.name);
    return keep(old);
  }

  // The first replicated operand of the gathered shape is replaced by a slice of it.
  OrError<bool> slice_operand(Operation& now) {
    if (!by_name_.contains(now.name) || gather_.kind != OperationKind::AllGather) return false;
    if (now.kind != OperationKind::Pointwise && !is_reduction(now.kind)) return false;
    for (std::string& operand : now.operands) {
      const Operation& whole = operation(before_, operand);
      if (whole.type.layout.kind != LayoutKind::Replicated ||
          !same_sides(whole.type.shape, gather_.type.shape) || whole.type.scope != gather_.type.scope)
        continue;
      Operation slice = {.kind = OperationKind::Slice,
                         .name = new_name(operand),
                         .operands = {operand},
                         .layout = gathered().layout,
                         .over = gathered().each ? Scope::Group : Scope::World};
      if (auto error = check_new_name(before_, slice.name, where_)) return *error;
      const OrError<TensorType> type = inferred_type(known_, slice, where_);
      if (!type) return type.error();
      slice.type = *type;
      sliced_[operand] = slice.name;
      known_.operations.push_back(slice);
      slices_.push_back(slice);
      std::ranges::replace(now.operands, operand, slice.name);
      return true;
    }
    return false;
  }

  // Slices, then what stays of a kernel, then what is moved, then what makes that whole.
  // Operations of one kernel have to stay neighbours, and so do those of the moved one; gathers stand
  // behind both.
  void end_of_kernel(Workload& after) {
    for (auto* part : {&slices_, &staying_, &moving_, &wholes_}) {
      for (Operation& operation : *part) after.operations.push_back(std::move(operation));
      part->clear();
    }
  }

  // By an output, by the memory of an input, or by an operation that stays.
  bool is_read_outside(const Operation& old) const {
    if (!old.updates.empty() || is_output(before_, old.name)) return true;
    return std::ranges::any_of(readers(before_, old.name),
                               [&](const std::string& reader) { return !moved_.contains(reader); });
  }

  const TensorType& gathered() const { return operation(before_, gather_.operands[0]).type; }

  std::string new_name(const std::string& old) const { return prefix_ + old; }

  const Workload& before_;
  const Operation& gather_;
  const std::string prefix_, where_;
  Workload known_;  // of both programs what was seen so far, for the rules of types
  std::set<std::string> moved_, by_name_, renamed_, summed_;
  std::map<std::string, std::string> sliced_;
  std::string kernel_;
  std::vector<Operation> slices_, staying_, moving_,
      wholes_;  // of the kernel, or operation, that is being processed
};

}  // namespace

OrError<Workload> reorder(const Workload& workload, const std::string& gather,
                          const std::vector<std::string>& operations, const std::string& prefix) {
  const std::string where = "reorder " + gather;
  const OrError<const Operation*> named = operation_for(workload, gather, where);
  if (!named) return named.error();
  const Operation& first = **named;
  if (first.kind != OperationKind::AllGather && first.kind != OperationKind::Broadcast)
    return InputError(
        where, fmt::format("it is {}, and only AllGather and Broadcast can be moved", to_string(first.kind)),
        first.kind == OperationKind::AllReduce ? "split makes an AllGather of it" : "");
  if (auto error = check_alone(first, where)) return *error;
  if (operations.empty()) return InputError(where, "no operation is named behind which it is to be moved");
  const OrError<std::vector<int>> moved = places_for(workload, operations, where);
  if (!moved) return moved.error();
  OrError<Workload> after = Reordering(workload, first, operations, *moved, prefix, where).result();
  return after ? rewritten(workload, *std::move(after), where) : after;
}

// State that is kept in slices, and operations that are not needed. Where a state m is stored by
//   m_ = Update(m, AllGather(s_m_))
// asSlice(m) declares m as s_m_ is sliced, s_m_ updates it, and the gather is gone.

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
