// An AllGather moved behind operations that read it: f(AllGather(x)) = AllGather(f(x)) where f works on each
// slice by itself. (And Broadcast likewise, with the root's tensor in place of slices.) Behind m_, for
// example:
//   avg = AllGather(rs)                      s_m_ = 0.9 * m + 0.1 * rs
//   m_ = Update(m, 0.9 * m + 0.1 * avg)      m_ = Update(m, AllGather(s_m_))
//
// One pass down the list. `sliced_` maps names of the old program to the operation of the new one that has
// the slices; it begins with the gather itself, and what it gathers. An operation that is to be moved reads
// slices in place of operands that have them, and the rules of types (tensor/language/infer.h) say what comes out:
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

bool reduces(OperationKind kind) {
  return kind == OperationKind::ReduceTensor || kind == OperationKind::ReduceAlong;
}
bool moves_elements(OperationKind kind) {
  return kind >= OperationKind::Transpose && kind <= OperationKind::GatherRows;
}
bool can_be_sliced(OperationKind kind) {
  return kind == OperationKind::Pointwise || kind == OperationKind::MatMul ||
         kind == OperationKind::Convolution || reduces(kind) || moves_elements(kind) ||
         kind == OperationKind::Send;
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
          "Pointwise, ReduceTensor, ReduceAlong, MatMul, Convolution, Send, and what moves elements but "
          "ScatterRows "
          "can be sliced");
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
    } else if (reduces(now.kind) && now.type.layout.kind == LayoutKind::Local) {
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
    if (now.kind != OperationKind::Pointwise && !reduces(now.kind)) return false;
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

}  // namespace chorale
