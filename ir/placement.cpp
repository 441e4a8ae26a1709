// Texts of strategies and matrices as the paper writes them (Xie et al.), and what follows from a job alone.
#include "ir/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace chorale {

long long devices(const Hierarchy& hierarchy) {
  long long product = 1;
  for (const Level& level : hierarchy.levels) product *= level.fan_out;
  return product;
}

bool overlaps(const Job& job) {
  return std::ranges::any_of(job.reductions, [](const Reduction& each) { return each.after.has_value(); });
}

// Without `after` a reduction waits for all before it: a job that names no predecessors runs one by one. An
// empty list is another thing: it waits for none.
std::vector<std::vector<int>> predecessors(const Job& job) {
  std::vector<std::vector<int>> result;
  for (const Reduction& each : job.reductions) {
    std::vector<int> all(result.size());
    std::iota(all.begin(), all.end(), 0);
    result.push_back(each.after.value_or(all));
  }
  return result;
}

// Every value has a row, so the search always finds one.
const char* name(StrategyInstruction::Operation operation) {
  return std::ranges::find(kOperationNames, operation, &Named<StrategyInstruction::Operation>::value)
      ->name.data();
}

const char* name(Goal goal) {
  return std::ranges::find(kGoalNames, goal, &Named<Goal>::value)->name.data();
}

std::string name_of(SynthesisKind kind) {
  const auto* const row = std::ranges::find(kSynthesisChoices, kind, &Named<SynthesisKind>::value);
  return row == std::end(kSynthesisChoices) ? "reduction axes" : std::string(row->name);
}

std::string to_text(const StrategyInstruction& instruction, const std::vector<std::string>& levels) {
  std::string form = name_in<StrategyInstruction::Form>(kFormNames, instruction.form);
  if (instruction.form != StrategyInstruction::Form::InsideGroup)
    form += fmt::format("({})", levels[instruction.ancestor]);
  return fmt::format("({}, {}, {})", levels[instruction.slice], form, name(instruction.operation));
}

// Instructions are printed as parse_strategy() reads them (ir/strategy_text.h).
std::string to_text(const Strategy& strategy, const std::vector<std::string>& levels) {
  std::vector<std::string> instructions;
  for (const StrategyInstruction& instruction : strategy)
    instructions.push_back(to_text(instruction, levels));
  return strategy.empty() ? "nothing" : fmt::format("{}", fmt::join(instructions, "; "));
}

// "[[1 8] [4 2]]": a row for each axis, the outermost level first. Orders are not shown.
std::string to_text(const ParallelismMatrix& matrix) {
  std::vector<std::string> rows;
  for (const std::vector<int>& row : matrix.factors) rows.push_back(fmt::format("[{}]", fmt::join(row, " ")));
  return fmt::format("[{}]", fmt::join(rows, " "));
}

// Without orders axes vary in the order in which they were given, the first the slowest.
std::vector<int> order_of(const ParallelismMatrix& matrix, int level) {
  if (!matrix.orders.empty()) return matrix.orders[level];
  std::vector<int> order(matrix.factors.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace chorale
