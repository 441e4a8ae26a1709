// Texts of strategies and matrices as the paper writes them (Xie et al.), and what follows from a job alone.
#include "ir/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "ir/shown.h"

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

// Instructions are printed as parse_strategy() reads them (ir/placement.h).
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

// "(gpu, InsideGroup, AllReduce); (node, Parallel(gpu), AllReduce)". Names of levels stay names here; the
// machine decides later whether it has them.

namespace {

using Form = StrategyInstruction::Form;

constexpr std::size_t kLongestStrategy = 4000;

// Spaces and newlines: a strategy may come from a file with an instruction a line.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// The text before the first separator, which is removed as well.
std::string_view cut_off(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trimmed(head);
}

// "(slice, form, operation)", where Parallel and Master name an ancestor in parentheses. Errors cite the
// instruction by number and as it was written, cut to 80 bytes and safe to print.
NamedInstruction parse_instruction(std::string_view text, const std::string& where, int number) {
  const auto fail = [&](const std::string& what, const std::string& remedy) -> void {
    throw InputError(where, fmt::format("instruction {}: {}", number, what), remedy);
  };
  const std::string whole = shown(std::string(text.substr(0, 80)));
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    fail("'" + whole + "' is none", "write it as (gpu, InsideGroup, AllReduce)");
  text = text.substr(1, text.size() - 2);
  NamedInstruction instruction{.slice = std::string(cut_off(text, ','))};
  std::string_view form = cut_off(text, ',');
  const std::string_view operation = trimmed(text);
  if (const std::size_t open = form.find('('); open != std::string_view::npos && form.back() == ')') {
    instruction.ancestor = trimmed(form.substr(open + 1, form.size() - open - 2));
    form = trimmed(form.substr(0, open));
  }
  if (const std::optional<Form> named = value_in<Form>(kFormNames, form))
    instruction.form = *named;
  else
    fail("'" + whole + "' has no form", "use InsideGroup, Parallel(level) or Master(level)");
  // "Parallel()" has an empty ancestor and is refused as well.
  if ((instruction.form == Form::InsideGroup) != instruction.ancestor.empty())
    fail("'" + whole + "' has a level too many or too few", "Parallel and Master name one, InsideGroup none");
  using Operation = StrategyInstruction::Operation;
  if (const std::optional<Operation> named = value_in<Operation>(kOperationNames, operation))
    instruction.operation = *named;
  else
    fail("'" + whole + "' has no operation", "use AllReduce, ReduceScatter, AllGather, Reduce or Broadcast");
  return instruction;
}

}  // namespace

NamedStrategy parse_strategy(std::string_view text, const std::string& where) {
  if (text.size() > kLongestStrategy) throw InputError(where, "is longer than 4000 characters", "write less");
  NamedStrategy strategy;
  text = trimmed(text);
  while (!text.empty()) {
    strategy.push_back(parse_instruction(cut_off(text, ';'), where, static_cast<int>(strategy.size()) + 1));
    text = trimmed(text);
  }
  if (strategy.empty())
    throw InputError(where, "is empty", "write (root, InsideGroup, AllReduce), or leave it out");
  return strategy;
}

}  // namespace chorale
