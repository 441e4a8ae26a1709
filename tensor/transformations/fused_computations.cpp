// Computations in as few kernels as are found in one pass: each operation joins the last kernel that takes
// it. A kernel takes it if the result is a valid program, which fuse() decides; so no rule of kernels stands
// here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor/language/kernels.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/moves.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

bool is_free_computation(const Operation& operation) {
  return is_alone(operation) &&
         (operation.kind == OperationKind::Pointwise || operation.kind == OperationKind::ReduceTensor ||
          operation.kind == OperationKind::ReduceAlong);
}

// The kernel with the operation in it.
// fuse() moves what lies between the kernel and the operation out of the way, or refuses.
OrError<Workload> widened(const Workload& workload, const std::string& kernel, const std::string& operation) {
  const bool single = find(workload, kernel) != nullptr;
  return fuse(workload, {kernel, operation}, single ? unused(workload, "comp") : kernel);
}

}  // namespace

// Backwards through the units: the nearest kernel is the one with the fewest operations to be moved in
// between. The script names the operations of each kernel at once, so that applying it fuses once per
// kernel and not once per operation; a kernel whose name the program already has was the user's.
Move pointwise_fused(const Workload& workload, int most_operations) {
  Workload fused = workload;
  for (const Operation& operation : workload.operations) {
    if (!is_free_computation(operation)) continue;
    const std::vector<Unit> before = units(fused);
    bool done = false;
    for (auto unit = before.rbegin(); unit != before.rend() && !done; ++unit) {
      const Operation& last = fused.operations[unit->operations.back()];
      const bool other = unit->kind == KernelKind::Single
                             ? !is_free_computation(last) || last.name == operation.name
                             : unit->kind != KernelKind::Computation;
      if (other || static_cast<int>(unit->operations.size()) >= most_operations) continue;
      if (find(workload, last.name)->kernel != "") continue;  // a kernel of the user's stays as it is
      if (place(workload, last.name) >= place(workload, operation.name)) continue;
      OrError<Workload> wider = widened(fused, unit->name, operation.name);
      done = static_cast<bool>(wider);
      if (done) fused = *std::move(wider);
    }
  }
  Move move;
  for (const Unit& unit : units(fused)) {
    if (unit.kind == KernelKind::Single || is_a_name(workload, unit.name)) continue;
    std::vector<std::string> names;
    for (const int i : unit.operations) names.push_back(fused.operations[i].name);
    move.script +=
        fmt::format("{}fuse({}; {})", move.script.empty() ? "" : "; ", unit.name, fmt::join(names, ", "));
  }
  move.after = transformed(workload, move.script);
  return move;
}

}  // namespace chorale
