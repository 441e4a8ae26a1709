// The text form, written: a statement an operation, in the order of the list.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/expression_text.h"
#include "workload/text.h"
#include "workload/vocabulary.h"

namespace chorale {
namespace {

using Kind = OperationKind;

std::string printed_expression(const Operation& operation) {
  const std::string text = to_string(operation.expression, operation.operands);
  return operation.casts ? fmt::format("Cast({}, {})", short_name(operation.type.element), text) : text;
}

std::string dimension(const TensorLayout& layout) {
  return layout.dim == kFlat ? "flat" : std::to_string(layout.dim);
}

std::string printed_reduction(ReduceOp op) {
  return fmt::format("\"{}\"", word_for(kReductionWords, op));
}

std::string printed_call(const Operation& operation) {
  std::vector<std::string> arguments = operation.operands;
  switch (operation.kind) {
    case Kind::Pointwise:
      return printed_expression(operation);
    case Kind::ReduceTensor:
    case Kind::AllReduce:
      arguments.insert(arguments.begin(), printed_reduction(operation.reduction));
      break;
    case Kind::ReduceScatter:
      arguments.insert(arguments.begin(), printed_reduction(operation.reduction));
      arguments.push_back(dimension(operation.layout));
      break;
    case Kind::Transpose:
      for (const int dim : operation.dims) arguments.push_back(std::to_string(dim));
      break;
    case Kind::Reshape:
      arguments.push_back(to_string(operation.shape));
      break;
    case Kind::Narrow:
      arguments.push_back(std::to_string(operation.dims[0]));
      for (const Extent& each : operation.shape) arguments.push_back(to_string(each));
      break;
    case Kind::Concat:
      arguments.insert(arguments.begin(), std::to_string(operation.dims[0]));
      break;
    case Kind::ScatterRows:
    case Kind::AllToAllV:
      arguments.push_back(to_string(operation.shape[0]));
      break;
    case Kind::ReduceAlong:
      arguments.insert(arguments.begin(), printed_reduction(operation.reduction));
      arguments.push_back(std::to_string(operation.dims[0]));
      break;
    case Kind::Reduce:
      arguments.insert(arguments.begin(), printed_reduction(operation.reduction));
      arguments.push_back(std::to_string(operation.layout.root));
      break;
    case Kind::Slice:
      arguments.push_back(dimension(operation.layout));
      break;
    case Kind::Send:
      arguments.push_back(operation.shift > 0 ? "GROUP + 1" : "GROUP - 1");
      break;
    case Kind::Convolution:
      arguments.push_back(fmt::format("stride = {}", operation.stride));
      arguments.push_back(fmt::format("padding = {}", operation.padding));
      break;
    default:
      break;
  }
  if (operation.over != Scope::World)
    arguments.emplace_back(operation.over == Scope::Group ? "GROUP" : "ACROSS");
  return fmt::format("{}({})", to_string(operation.kind), fmt::join(arguments, ", "));
}

std::string printed_layout(const Workload& workload, const TensorType& type) {
  const std::string layout = to_string(type.layout) + (type.each ? " EACH" : "");
  if (type.scope == Scope::World) return layout;
  if (type.first_group == 0 && type.last_group == workload.groups - 1) return layout + " GROUP";
  if (type.first_group == type.last_group) return fmt::format("{} GROUP {}", layout, type.first_group);
  return fmt::format("{} GROUP {}..{}", layout, type.first_group, type.last_group);
}

std::string printed_input(const Workload& workload, const Operation& input) {
  const TensorType& type = input.type;
  const std::string layout = printed_layout(workload, type);
  std::string text =
      fmt::format("{} {}({}", type.shape.empty() ? "Scalar" : "Tensor", input.name, short_name(type.element));
  if (!type.shape.empty()) text += ", " + to_string(type.shape);
  if (!type.shape.empty() || layout != "Replicated") text += ", " + layout;
  return text + ")" + (input.state ? " state" : "") + (input.scattered ? " scattered" : "") + "\n";
}

std::string printed_operation(const Operation& operation) {
  const std::string call = printed_call(operation);
  return operation.updates.empty()
             ? fmt::format("{} = {}\n", operation.name, call)
             : fmt::format("{} = Update({}, {})\n", operation.name, operation.updates, call);
}

}  // namespace

std::string to_text(const Workload& workload) {
  std::string text =
      fmt::format("workload {}\nranks {}\ngroups {}\n", workload.name, workload.ranks, workload.groups);
  for (const WorkloadSize& size : workload.sizes)
    text += fmt::format("size {} = {}\n", size.name, size.value);
  std::string overlap, kernel;  // that are open
  const auto close = [&](std::string& open, const std::string& indent) {
    if (!open.empty()) text += indent + "}\n";
    open.clear();
  };
  for (const Operation& each : workload.operations) {
    if (is_constant(each.kind)) continue;
    if (each.kernel != kernel) close(kernel, overlap.empty() ? "" : "  ");
    if (each.overlap != overlap) close(overlap, "");
    if (overlap.empty() && !each.overlap.empty())
      text += fmt::format("overlap {} {{\n", overlap = each.overlap);
    const std::string indent = overlap.empty() ? "" : "  ";
    if (kernel.empty() && !each.kernel.empty())
      text += fmt::format("{}kernel {} {{\n", indent, kernel = each.kernel);
    text += indent + (kernel.empty() ? "" : "  ") +
            (each.kind == Kind::Input ? printed_input(workload, each) : printed_operation(each));
  }
  close(kernel, overlap.empty() ? "" : "  ");
  close(overlap, "");
  if (!workload.outputs.empty()) text += fmt::format("return {}\n", fmt::join(workload.outputs, ", "));
  return text;
}

}  // namespace chorale
