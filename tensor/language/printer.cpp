// The text form, written: a statement an operation, in the order of the list.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor/language/operation_forms.h"
#include "tensor/language/text.h"

namespace chorale {
namespace {

// Numbers of groups are left out where all groups have the tensor, as the parser takes it then.
std::string printed_layout(const Workload& workload, const TensorType& type) {
  const std::string layout = to_string(type.layout) + (type.each ? " EACH" : "");
  if (type.scope == Scope::World) return layout;
  if (type.first_group == 0 && type.last_group == workload.groups - 1) return layout + " GROUP";
  if (type.first_group == type.last_group) return fmt::format("{} GROUP {}", layout, type.first_group);
  return fmt::format("{} GROUP {}..{}", layout, type.first_group, type.last_group);
}

// A Scalar has no shape, and no layout either where it is Replicated.
std::string printed_input(const Workload& workload, const Operation& input) {
  const TensorType& type = input.type;
  const std::string layout = printed_layout(workload, type);
  std::string text =
      fmt::format("{} {}({}", type.shape.empty() ? "Scalar" : "Tensor", input.name, short_name(type.element));
  if (!type.shape.empty()) text += ", " + to_string(type.shape);
  if (!type.shape.empty() || layout != "Replicated") text += ", " + layout;
  return text + ")" + (input.state ? " state" : "") + (input.scattered ? " scattered" : "") + "\n";
}

// A result in the memory of an input is Update(input, ...).
std::string printed_operation(const Operation& operation) {
  const std::string call = call_text(operation);
  return operation.updates.empty()
             ? fmt::format("{} = {}\n", operation.name, call)
             : fmt::format("{} = Update({}, {})\n", operation.name, operation.updates, call);
}

}  // namespace

// Blocks are not in the list of operations: they open and close where kernel and overlap of the next
// operation are others. A kernel closes before its overlap does.
std::string to_text(const Workload& workload) {
  std::string text =
      fmt::format("workload {}\nranks {}\ngroups {}\n", workload.name, workload.ranks, workload.groups);
  for (const WorkloadSize& size : workload.sizes)
    text += fmt::format("size {} = {}{}\n", size.name, size.value, size.fixed ? " fixed" : "");
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
            (each.kind == OperationKind::Input ? printed_input(workload, each) : printed_operation(each));
  }
  close(kernel, overlap.empty() ? "" : "  ");
  close(overlap, "");
  if (!workload.outputs.empty()) text += fmt::format("return {}\n", fmt::join(workload.outputs, ", "));
  return text;
}

}  // namespace chorale
