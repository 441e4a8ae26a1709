// The type of one operation, by its rule (operation_forms.h), with what all rules have in common:
// operands that are there, as many as the kind takes, and a result that is not too large.
#include "tensor/language/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "tensor/language/kernels.h"
#include "tensor/language/names.h"
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

// inferred(): one pass from the top, in which each operation sees those before it, checks order, names and
// types. Updates, kernels, overlaps and outputs are checked afterwards, since they concern several
// operations. First the program is brought into normal form, so that programs that mean the same are equal.

namespace {

// Operands once each, in the order of the expression, and only those that it has; a conversion at the very
// end is the cast of the result. Cast(fp16, x * y + x) has the operands x and y and the expression x * y + x,
// cast to fp16.
void tidy_expression(Operation& operation) {
  Expression& expression = operation.expression;
  std::vector<std::string> operands;
  for (ExpressionNode& node : expression) {
    if (node.op != ExpressionOperator::Operand) continue;
    if (node.operand < 0 || node.operand >= static_cast<int>(operation.operands.size()))
      return;  // refused later
    const std::string& name = operation.operands[node.operand];
    if (std::ranges::find(operands, name) == operands.end()) operands.push_back(name);
  }
  for (ExpressionNode& node : expression)
    if (node.op == ExpressionOperator::Operand)
      node.operand =
          static_cast<int>(std::ranges::find(operands, operation.operands[node.operand]) - operands.begin());
  operation.operands = operands;
  if (!operation.casts && expression.size() > 1 && expression.back().op == ExpressionOperator::Convert &&
      is_workload_type(static_cast<ElementType>(expression.back().operand))) {
    operation.casts = true;
    operation.type.element = static_cast<ElementType>(expression.back().operand);
    expression.pop_back();
  }
}

Operation tidied(const Operation& operation) {
  Operation result = with_fields_of_kind(operation);
  if (result.kind == OperationKind::Pointwise) tidy_expression(result);
  return result;
}

// Constants first, in the order of kinds and names (Send stands for all that are none, behind them); a
// constant that is not read is dropped. All else keeps its order.
void tidy_operations(std::vector<Operation>& operations) {
  std::ranges::transform(operations, operations.begin(), tidied);
  std::set<std::string> read;
  for (const Operation& operation : operations)
    read.insert(operation.operands.begin(), operation.operands.end());
  std::erase_if(operations, [&](const Operation& operation) {
    return is_constant(operation.kind) && !read.contains(operation.name);
  });
  std::ranges::stable_sort(operations, {}, [](const Operation& operation) {
    return is_constant(operation.kind) ? std::pair(operation.kind, operation.name)
                                       : std::pair(OperationKind::Send, std::string());
  });
}

class ProgramCheck {
 public:
  ProgramCheck(Workload given, const Whereabouts& where) : given_(std::move(given)), where_(where) {}

  // Order: names and types first, since what follows looks operations up and compares types; then runs,
  // whose kernels and overlaps are units (kernels.h); outputs last.
  OrError<Workload> run() {
    tidy_operations(given_.operations);
    if (auto error = fault_of_heading()) return *error;
    if (auto error = walk()) return *error;
    if (auto error = fault_of_runs(&Operation::kernel, "kernel")) return *error;
    if (auto error = fault_of_runs(&Operation::overlap, "overlap")) return *error;
    if (auto error = fault_of_units()) return *error;
    if (auto error = fault_of_outputs()) return *error;
    return std::move(result_);
  }

 private:
  [[nodiscard]] InputError fail(const std::string& name, const std::string& problem,
                                const std::string& remedy) const {
    return InputError(where_(name), problem, remedy);
  }
  [[nodiscard]] InputError fail_at(const Operation& operation, const std::string& problem,
                                   const std::string& remedy) const {
    return fail(operation.name, fmt::format("{}: {}", operation.name, problem), remedy);
  }

  // Each name once, of any kind.
  MaybeError take_name(const std::string& what, const std::string& name) {
    if (const std::string flaw = name_flaw(name); !flaw.empty())
      return fail(name, fmt::format("the name '{}' of {} {}", name, what, flaw), "choose another one");
    if (!names_.insert(name).second)
      return fail(name, fmt::format("the name '{}' is that of two things", name), "give each its own");
    return {};
  }

  MaybeError fault_of_heading() {
    if (const std::string flaw = name_flaw(given_.name); !flaw.empty())
      return fail("", fmt::format("the name '{}' of the program {}", given_.name, flaw),
                  "choose another one");
    if (given_.ranks < 1 || given_.groups < 1 ||
        std::int64_t{given_.ranks} * given_.groups > std::int64_t{kMostRanks})
      return fail(
          "", fmt::format("{} in each of {}", counted(given_.ranks, "rank"), counted(given_.groups, "group")),
          fmt::format("there are 1 to {} in all", kMostRanks));
    if (given_.operations.size() > kMostOperations || given_.sizes.size() > kMostSizes)
      return fail(
          "",
          fmt::format("{} and {}", counted(static_cast<long long>(given_.operations.size()), "operation"),
                      counted(static_cast<long long>(given_.sizes.size()), "size")),
          fmt::format("{} operations and {} sizes are the most", kMostOperations, kMostSizes));
    for (const WorkloadSize& size : given_.sizes) {
      if (auto error = take_name("a size", size.name)) return error;
      if (size.value < 1 || size.value > kMostElements)
        return fail(size.name, fmt::format("the size {} is {}", size.name, size.value),
                    fmt::format("sizes are 1 to {}", kMostElements));
    }
    return {};
  }

  // Operations see the program as far as it is typed, so an operand that comes later is "not there".
  MaybeError walk() {
    result_ = given_;
    result_.operations.clear();
    for (Operation operation : given_.operations) {
      if (auto error = take_operation_name(operation)) return error;
      if (auto error = require_unchanged(operation)) return error;
      if (operation.kind == OperationKind::Input)
        if (auto error = fault_of_input(operation)) return error;
      OrError<TensorType> type = inferred_type(result_, operation, where_(operation.name));
      if (!type) return type.error();
      operation.type = *std::move(type);
      // Normal form: the layout that was asked for is written as the result has it (flat of a vector is 0).
      if (operation.layout.kind == LayoutKind::Sliced) operation.layout = operation.type.layout;
      if (!operation.updates.empty())
        if (auto error = fault_of_update(operation)) return error;
      result_.operations.push_back(std::move(operation));
    }
    return {};
  }

  // RANK, GROUP and WORLD exist once each, and are called so.
  MaybeError take_operation_name(const Operation& operation) {
    if (!is_constant(operation.kind)) return take_name("an operation", operation.name);
    if (operation.kind == OperationKind::Size) return fault_of_size(operation);
    if (operation.name != to_string(operation.kind) || !names_.insert(operation.name).second)
      return fail_at(operation,
                     fmt::format("there is one {}, and that is its name", to_string(operation.kind)), "");
    return {};
  }

  // A size as a number: its name is the size's, so it is not taken a second time.
  MaybeError fault_of_size(const Operation& operation) {
    if (!numbers_.insert(operation.name).second) return fail_at(operation, "is there twice", "");
    return {};
  }

  // The memory of an updated input has its new value from there on. Reading the old name would be reading
  // another value, depending on the order in which a schedule does things; so it is refused, and the order
  // is free.
  MaybeError require_unchanged(const Operation& operation) const {
    for (const std::string& name : operation.operands)
      if (const auto update = updates_.find(name); update != updates_.end())
        return fail_at(operation,
                       fmt::format("reads {}, whose memory has {} from there on", name, update->second),
                       fmt::format("read {}, or read {} before", update->second, name));
    return {};
  }

  MaybeError fault_of_input(const Operation& input) const {
    if (!input.kernel.empty() || !input.overlap.empty())
      return fail_at(input, "is an input, and no part of a kernel or overlap", "declare it before");
    return {};
  }

  // The result has to lie where the input lies, element by element: equal sides, element types, layouts
  // and groups. Operations that could be updates are those that can write into given memory: the emitters
  // have these.
  MaybeError fault_of_update(const Operation& operation) {
    using enum OperationKind;
    const OperationKind kind = operation.kind;
    if (kind != Pointwise && kind != AllGather && kind != AllReduce && kind != Broadcast &&
        (kind != Send || operation.around) && !is_put_in_place(operation))
      return fail_at(operation,
                     fmt::format("{} cannot store its result in a tensor that is there", to_string(kind)),
                     "update by a pointwise operation, AllReduce, AllGather, Broadcast or Send, or rows of "
                     "the tensor by PutRows");
    const Operation* const input = find(result_, operation.updates);
    if (input == nullptr || input->kind != Input)
      return fail_at(operation,
                     fmt::format("updates '{}', which is not a tensor from outside", operation.updates),
                     "declare it as a Tensor before");
    if (const auto other = updates_.find(operation.updates); other != updates_.end())
      return fail_at(operation,
                     fmt::format("updates {}, which {} updates, too", operation.updates, other->second),
                     "update a tensor once");
    const TensorType &mine = operation.type, &its = input->type;
    if (mine.element != its.element || !same_sides(mine.shape, its.shape))
      return fail_at(operation,
                     fmt::format("is {}, and {}, which it updates, is {}", to_string(mine), operation.updates,
                                 to_string(its)),
                     "shape and element type have to be the same; Cast changes the type");
    if (mine.layout != its.layout || mine.scope != its.scope || mine.first_group != its.first_group ||
        mine.last_group != its.last_group || mine.each != its.each)
      return fail_at(operation,
                     fmt::format("is {}{}, and {}, which it updates, is {}{}", to_string(mine),
                                 group_words(mine), operation.updates, to_string(its), group_words(its)),
                     "layout and groups have to be the same");
    updates_[operation.updates] = operation.name;
    return {};
  }
  static std::string group_words(const TensorType& type) {
    if (type.scope == Scope::World) return "";
    return type.first_group == type.last_group ? fmt::format(" {}", type.first_group)
                                               : fmt::format(" {}..{}", type.first_group, type.last_group);
  }

  // Runs of operations that are of the same kernel (overlap).
  // A name that comes again after another one would be two kernels.
  MaybeError fault_of_runs(std::string Operation::*member, const std::string& what) {
    std::string before;
    for (const Operation& operation : result_.operations) {
      const std::string& name = operation.*member;
      if (name != before && !name.empty()) {
        const bool seen = !runs_.insert(name).second;
        if (seen)
          return fail(name,
                      fmt::format("{} {}: its operations do not follow each other; {} stands apart", what,
                                  name, operation.name),
                      "move them together");
        if (auto error = take_name("a " + what, name)) return error;
      }
      before = name;
    }
    return {};
  }

  // Faults are reported at the place of the kernel or the overlap, where a reader finds all of it.
  MaybeError fault_of_units() const {
    // Kernels by themselves, then overlaps, whose units are valid by then.
    const std::vector<Unit> all = units(result_);
    std::map<std::string, std::vector<Unit>> overlaps;
    for (const Unit& unit : all) {
      if (unit.kind != KernelKind::Single)
        if (auto error = fault_of_kernel(unit)) return error;
      if (!unit.overlap.empty()) overlaps[unit.overlap].push_back(unit);
    }
    for (const auto& [name, members] : overlaps)
      if (const std::vector<Fault> faults = overlap_faults(result_, members); !faults.empty())
        return fail(name, fmt::format("overlap {}: {}", name, faults[0].words), faults[0].remedy);
    return {};
  }
  MaybeError fault_of_kernel(const Unit& unit) const {
    for (const int index : unit.operations)
      if (result_.operations[index].overlap != unit.overlap)
        return fail(unit.name, fmt::format("kernel {}: only some of it is overlapped", unit.name),
                    "overlap kernels as wholes");
    if (const std::vector<Fault> faults = kernel_faults(result_, unit.operations); !faults.empty())
      return fail(unit.name, fmt::format("kernel {}: {}", unit.name, faults[0].words), faults[0].remedy);
    return {};
  }

  // An input, updated or not, is not a result. A program whose only effect is an update needs no outputs.
  MaybeError fault_of_outputs() const {
    std::set<std::string> seen;
    for (const std::string& name : result_.outputs) {
      const Operation* const output = find(result_, name);
      if (output == nullptr)
        return fail(name, fmt::format("'{}' is returned, and there is no such operation", name),
                    "return what was computed");
      if (output->kind == OperationKind::Input || is_constant(output->kind))
        return fail(name, fmt::format("{} is returned as it was given", name), "return what was computed");
      if (!seen.insert(name).second) return fail(name, fmt::format("{} is returned twice", name), "");
    }
    if (result_.outputs.empty() && updates_.empty())
      return fail("", "the program returns and updates nothing", "end it with \"return NAME\"");
    return {};
  }

  Workload given_, result_ = {};
  const Whereabouts& where_;
  std::set<std::string> names_ = {}, runs_ = {}, numbers_ = {};  // numbers: sizes that are read as such
  std::map<std::string, std::string> updates_ = {};              // by input: what updates it
};

}  // namespace

OrError<Workload> inferred(Workload workload, const Whereabouts& where) {
  return ProgramCheck(std::move(workload), where).run();
}

OrError<Workload> inferred(Workload workload, const std::string& where) {
  return inferred(std::move(workload), [&](const std::string&) { return where; });
}

}  // namespace chorale
