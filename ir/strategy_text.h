// A reduction strategy as a person writes it: in the words in which strategies are printed, by names of
// levels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/placement.h"

namespace chorale {

// A parallelism matrix defines which levels there are, so they are names here.
struct NamedInstruction {
  std::string slice = {};
  StrategyInstruction::Form form = StrategyInstruction::Form::InsideGroup;
  std::string ancestor = {};  // of Parallel and Master
  StrategyInstruction::Operation operation = StrategyInstruction::Operation::AllReduce;
  bool operator==(const NamedInstruction&) const = default;
};

using NamedStrategy = std::vector<NamedInstruction>;

// "(gpu, InsideGroup, ReduceScatter); (gpu, Parallel(root), AllReduce); (gpu, InsideGroup, AllGather)".
// Throws InputError that names `where` and the instruction.
NamedStrategy parse_strategy(std::string_view text, const std::string& where);

}  // namespace chorale
