// A kernel that goes row by row, as loops over a row's elements and over the row's own values, one after the
// other for each row (exchange/rows.h), while the row is in a cache.
//
// Reductions cut it into passes: an operation belongs to the first pass in which all that it reads is there.
// A result without memory that a later pass needs is computed again there.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tensor/lowering/names.h"
#include "tensor/lowering/step_source.h"

namespace chorale {
namespace {

// known_: the pass from which on a result may be read: the next one where it is a reduction, which is
// complete when the row has been gone through.
class RowPasses {
 public:
  RowPasses(const Workload& workload, const Stages& stages, const std::vector<int>& operations)
      : workload_(workload), stages_(stages) {
    for (const int i : operations) {
      int pass = 0;
      for (const std::string& operand : workload.operations[i].operands)
        if (const auto it = known_.find(operand); it != known_.end()) pass = std::max(pass, it->second);
      passes_.resize(std::max<std::size_t>(passes_.size(), pass + 1));
      passes_[pass].push_back(i);
      members_[workload.operations[i].name] = i;
      known_[workload.operations[i].name] = pass + (reduces(i) ? 1 : 0);
    }
  }

  std::size_t count() const { return passes_.size(); }
  std::vector<int> values_of_rows(std::size_t pass) const {
    std::vector<int> result;
    for (const int i : passes_[pass])
      if (is_of_row(i)) result.push_back(i);
    return result;
  }
  // Reductions, and what is stored, of that pass; and what they read of the row that has no memory, which is
  // computed again in each pass that needs it.
  std::vector<int> elements_of_rows(std::size_t pass) const {
    std::set<int> wanted;
    for (const int i : passes_[pass])
      if (!is_of_row(i) && (reduces(i) || stages_.is_stored(workload_.operations[i].name))) want(i, wanted);
    return {wanted.begin(), wanted.end()};
  }

 private:
  bool reduces(int i) const { return workload_.operations[i].kind == OperationKind::ReduceAlong; }
  bool is_of_row(int i) const { return !reduces(i) && is_value_of_row(workload_, i, members()); }
  std::vector<int> members() const {
    std::vector<int> result;
    for (const auto& [name, i] : members_) result.push_back(i);
    return result;
  }
  // And what it reads of the row that has no memory.
  void want(int i, std::set<int>& wanted) const {
    if (!wanted.insert(i).second) return;
    for (const std::string& operand : workload_.operations[i].operands)
      if (const auto it = members_.find(operand); it != members_.end() && !reduces(it->second) &&
                                                  !is_of_row(it->second) && !stages_.is_stored(operand))
        want(it->second, wanted);
  }

  const Workload& workload_;
  const Stages& stages_;
  std::vector<std::vector<int>> passes_ = {};
  std::map<std::string, int> members_ = {};  // operation, by its name
  std::map<std::string, int> known_ = {};    // the first pass that has it
};

}  // namespace

// The loops, after ", " each, and statements that make them.
// In each pass first what a row has one value of, since elements read it.
StepPrinter::RowLoops StepPrinter::row_loops(const Stage& stage) {
  const RowPasses passes(workload_, places_.stages(), stage.loop);
  const auto reduction = std::ranges::find_if(
      stage.loop, [&](int i) { return workload_.operations[i].kind == OperationKind::ReduceAlong; });
  const Operation& first = workload_.operations[*reduction];
  RowLoops rows{.sides =
                    fmt::format("has_{}.elements(), has_{}.own().back()", first.name, first.operands[0])};
  const auto add = [&](const std::vector<int>& operations, RowLoop kind) {
    if (operations.empty()) return;
    const std::string variable = fmt::format("loop{}", loop_count_ + 1);
    rows.made +=
        added_loop(operations,
                   {.variable = variable,
                    .row = kind,
                    .handed = stage.operation < 0 ? nullptr : &workload_.operations[stage.operation]})
            .made;
    rows.loops += ", " + variable;
  };
  for (std::size_t pass = 0; pass < passes.count(); ++pass) {
    add(passes.values_of_rows(pass), RowLoop::Value);
    add(passes.elements_of_rows(pass), RowLoop::Elements);
  }
  return rows;
}

std::string StepPrinter::rows(const Stage& stage) {
  const RowLoops rows = row_loops(stage);
  return fmt::format("    {{\n{}      device_.each_row({}{});\n    }}\n", rows.made, rows.sides, rows.loops);
}

// As the sums of rows come: each is handed to the loops when it is complete.
std::string StepPrinter::rows(const Stage& stage, const Phase& phase, const std::string& progress) {
  const RowLoops rows = row_loops(stage);
  return fmt::format("    {{\n{}{}      device_.each_row_of_sums(transport_, {}, {}, {}{});\n    }}\n",
                     phase.before, rows.made, phase.arguments, rows.sides,
                     progress.empty() ? "chorale::NoProgress()" : progress, rows.loops);
}

// Of a ReduceAlong by itself.
std::string StepPrinter::reduction(const Operation& op) const {
  places_.require_together(op.operands[0], op.name);
  places_.require_together(op.name, op.name);
  return fmt::format(
      "    if (has_{0}.elements() > 0) device_.template reduce_along<{1}>({2}, {3}, "
      "chorale::AlongSides(has_{4}, {5}));\n",
      op.name, printed_combination(op.reduction), places_.pointer(op.name), places_.first_of(op.operands[0]),
      op.operands[0], op.dims[0]);
}

std::string StepPrinter::along(const Operation& op) const {
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  places_.require_together(op.name, op.name);
  std::string function = "take_along", second;
  if (op.kind == OperationKind::ScanAlong)
    function = fmt::format("template scan_along<{}>", printed_combination(op.reduction));
  if (op.kind == OperationKind::TopK) function = "top_k";
  if (op.kind == OperationKind::TakeAlong) second = ", " + places_.first_of(op.operands[1]);
  return fmt::format(
      "    if (has_{0}.elements() > 0) device_.{1}({2}, {3}{4}, chorale::AlongSides(has_{5}, {6}), "
      "has_{0}.own()[{6}]);\n",
      op.name, function, places_.pointer(op.name), places_.first_of(op.operands[0]), second, op.operands[0],
      op.dims[0]);
}

// Operations that move elements of what a rank has (exchange/rows.h).

// All of them are local: layouts are such that a rank has what its part of the result needs. A rank without a
// part does nothing. Transposes, narrowings and concatenations are boxes of elements, each a place and a
// stride by dimension.
std::string StepPrinter::moved(const Operation& op) const {
  using Kind = OperationKind;
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  places_.require_together(op.name, op.name);
  const std::string to = places_.pointer(op.name), from = places_.first_of(op.operands[0]),
                    has = fmt::format("has_{}", op.name), had = fmt::format("has_{}", op.operands[0]);
  const auto here = [&](const std::string& statement) {
    return fmt::format("    if ({}.elements() > 0) device_.{};\n", has, statement);
  };
  const auto copied = [&](const char* box, const std::string& operand, int dim, const std::string& what) {
    return here(fmt::format("copy_box({}, {}, chorale::{}({}, has_{}, {}, {}))", to,
                            places_.first_of(operand), box, has, operand, dim, what));
  };
  switch (op.kind) {
    case Kind::Transpose:
      return copied("transposed_box", op.operands[0], op.dims[0], std::to_string(op.dims[1]));
    case Kind::Narrow:
      return copied("narrowed_box", op.operands[0], op.dims[0], printed_extent(op.shape[0]));
    case Kind::Concat: {
      std::string text, begin = "0";
      for (const std::string& operand : op.operands) {
        text += copied("placed_box", operand, op.dims[0], begin);
        begin += " + " + printed_extent(operation(workload_, operand).type.shape[op.dims[0]]);
      }
      return text;
    }
    case Kind::GatherRows:
      return here(
          fmt::format("gather_rows({}, {}, {}, has_{}.elements(), {}.side(0), chorale::product({}.own(), 1))",
                      to, from, places_.first_of(op.operands[1]), op.operands[1], had, had));
    case Kind::ScatterRows:
      return here(fmt::format(
          "scatter_rows({}, {}, {}, has_{}.elements(), {}.side(0), chorale::product({}.own(), 1))", to, from,
          places_.first_of(op.operands[1]), op.operands[1], has, has));
    case Kind::PutRows:
      return (op.updates.empty() ? here(fmt::format("copy({}, {}, {}.elements())", to, from, has)) : "") +
             here(fmt::format(
                 "put_rows({}, {}, {}, has_{}.elements(), {}.side(0), chorale::product({}.own(), 1))", to,
                 places_.first_of(op.operands[1]), places_.first_of(op.operands[2]), op.operands[2], has,
                 has));
    default:
      if (!places_.is_stored(op.name)) return "";  // it is its operand
      return here(fmt::format("copy({}, {}, {}.elements())", to, from, has));
  }
}

}  // namespace chorale
