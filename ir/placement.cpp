#include "ir/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/ranking.h"

namespace chorale {

long long devices(const Hierarchy& hierarchy) {
  long long product = 1;
  for (const Level& level : hierarchy.levels) product *= level.fan_out;
  return product;
}

const char* name(Instruction::Operation operation) {
  switch (operation) {
    case Instruction::Operation::AllReduce:
      return "AllReduce";
    case Instruction::Operation::ReduceScatter:
      return "ReduceScatter";
    case Instruction::Operation::AllGather:
      return "AllGather";
    case Instruction::Operation::Reduce:
      return "Reduce";
    case Instruction::Operation::Broadcast:
      return "Broadcast";
  }
  return "";
}

std::string to_text(const Instruction& instruction, const std::vector<std::string>& levels) {
  std::string form = "InsideGroup";
  if (instruction.form != Instruction::Form::InsideGroup)
    form = fmt::format("{}({})", instruction.form == Instruction::Form::Parallel ? "Parallel" : "Master",
                       levels[instruction.ancestor]);
  return fmt::format("({}, {}, {})", levels[instruction.slice], form, name(instruction.operation));
}

std::string to_text(const Strategy& strategy, const std::vector<std::string>& levels) {
  std::vector<std::string> instructions;
  for (const Instruction& instruction : strategy) instructions.push_back(to_text(instruction, levels));
  return strategy.empty() ? "nothing" : fmt::format("{}", fmt::join(instructions, "; "));
}

Strategy RankedStrategy::strategy() const {
  Strategy result;
  for (const PricedInstruction& priced : instructions) result.push_back(priced.instruction);
  return result;
}

std::string to_text(const ParallelismMatrix& matrix) {
  std::vector<std::string> rows;
  for (const std::vector<int>& row : matrix.factors) rows.push_back(fmt::format("[{}]", fmt::join(row, " ")));
  return fmt::format("[{}]", fmt::join(rows, " "));
}

}  // namespace chorale
