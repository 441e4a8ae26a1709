// An operation is described by what it does and the numbers of what it reads, so that equal numbers mean
// equal results; then a program is the set of its units, each the set of its operations, with its outputs.
// Two operations of one description are counted twice, whatever their names.
#include "tensor/tuner/same_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tensor/language/kernels.h"
#include "tensor/language/operation_forms.h"

namespace chorale {
namespace {

std::string described(const TensorLayout& layout) {
  return fmt::format("{}.{}.{}", static_cast<int>(layout.kind), layout.dim, layout.root);
}

// "%3" is the operation of number 3.
std::string described(Operation operation, const std::vector<int>& operands) {
  if (is_given(operation.kind)) return fmt::format("{} {}", operation.name, described(operation.type.layout));
  for (std::size_t k = 0; k < operands.size(); ++k) operation.operands[k] = fmt::format("%{}", operands[k]);
  return fmt::format("{} {} {}", call_text(operation), static_cast<int>(operation.type.element),
                     operation.updates);
}

}  // namespace

// Equal descriptions have equal numbers in all programs of the book.
int ScheduleBook::number(const std::string& description) {
  return numbers_.try_emplace(description, static_cast<int>(numbers_.size())).first->second;
}

// Hash consing: an operation's number stands for its whole expression tree, so two operations are equal if
// their numbers are. Names of kernels and overlaps do not count, only which operations they hold.
std::string ScheduleBook::key(const Workload& workload) {
  std::map<std::string, int> numbers;  // by name
  // Inputs count although nothing may read them: a program that lost one is another program.
  std::vector<int> inputs;
  for (const Operation& operation : workload.operations) {
    std::vector<int> operands;
    for (const std::string& operand : operation.operands) operands.push_back(numbers.at(operand));
    const int n = number(described(operation, operands));
    numbers[operation.name] = n;
    if (operation.kind == OperationKind::Input) inputs.push_back(n);
  }
  std::map<std::string, std::vector<std::string>> runs;  // by overlap; "": those that are in none
  for (const Unit& unit : units(workload)) {
    std::vector<int> members;
    for (const int i : unit.operations) members.push_back(numbers.at(workload.operations[i].name));
    std::ranges::sort(members);
    runs[unit.overlap].push_back(fmt::format("{}", fmt::join(members, ",")));
  }
  std::vector<std::string> parts;
  for (auto& [overlap, run] : runs) {
    std::ranges::sort(run);
    parts.push_back(fmt::format("{}{}", overlap.empty() ? "" : "overlapped ", fmt::join(run, " ")));
  }
  std::ranges::sort(parts);
  std::vector<int> outputs;
  for (const std::string& output : workload.outputs) outputs.push_back(numbers.at(output));
  return fmt::format("{}; {}; {}", fmt::join(inputs, ","), fmt::join(parts, "; "), fmt::join(outputs, ","));
}

}  // namespace chorale
