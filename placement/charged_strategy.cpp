// Between names and charges: a strategy as people write it, and the edges of the graph of states
// (strategy_space.h), whose charges a machine prices.
#include "placement/charged_strategy.h"

#include <algorithm>

#include "placement/synthesis_hierarchy.h"

namespace chorale {
namespace {

// The edge that does this, or none. There an instruction has one name, and others may have used another.
const StrategySpace::Edge* edge_for(const StrategySpace& space, int state,
                                    const StrategyInstruction& wanted) {
  // Names are compared by their groups at size 2, as the space compares them.
  std::vector<int> sizes(space.levels() + 1, 2);
  sizes[0] = 1;
  const DeviceGroups groups = groups_of(sizes, wanted);
  for (const StrategySpace::Edge& edge : space.edges(state))
    if (edge.instruction.operation == wanted.operation && groups_of(sizes, edge.instruction) == groups)
      return &edge;
  return nullptr;
}

}  // namespace

// Over the collapsed hierarchy everything that devices can do has a name; the other kinds leave out groupings
// that they cannot name.
std::shared_ptr<const StrategySpace> space_of(SynthesisKind synthesis, const ParallelismMatrix& matrix,
                                              const Reduction& reduction, const std::vector<int>& cut) {
  const int levels = static_cast<int>(cut.size());
  return synthesis == SynthesisKind::Collapsed
             ? StrategySpace::of(levels)
             : StrategySpace::of(levels, groupings_of_kind(synthesis, matrix, reduction.axes, cut));
}

std::vector<ChargedInstruction> steps_of(const PricedStrategy& priced, const StrategySpace& space) {
  std::vector<ChargedInstruction> steps;
  for (std::size_t i = 0; i < priced.instructions.size(); ++i)
    steps.push_back({priced.instructions[i], space.charges()[priced.charges[i]]});
  return steps;
}

// An AllGather begins with what its ReduceScatter has left: bytes before the ReduceScatter are bytes after
// the AllGather, so a level that it joined counts once more as scattered.
std::vector<ChargedInstruction> backwards(std::vector<ChargedInstruction> scatters) {
  std::reverse(scatters.begin(), scatters.end());
  for (ChargedInstruction& step : scatters) {
    step.instruction.operation = step.charge.operation = StrategyInstruction::Operation::AllGather;
    for (Charge::Part& part : step.charge.parts)
      for (std::size_t l = 0; l < part.scattered.size(); ++l)
        part.scattered[l] += step.charge.joined[l] ? 1 : 0;
  }
  return scatters;
}

// As far as there are edges. The caller decides what a shorter result means.
std::vector<ChargedInstruction> charged(const StrategySpace& space, const Strategy& strategy) {
  std::vector<ChargedInstruction> steps;
  int state = space.start();
  for (const StrategyInstruction& instruction : strategy) {
    const StrategySpace::Edge* const edge = edge_for(space, state, instruction);
    if (edge == nullptr) break;
    steps.push_back({instruction, space.charges()[edge->charge]});
    state = edge->to;
  }
  return steps;
}

Strategy strategy_of(const std::vector<ChargedInstruction>& steps) {
  Strategy result;
  for (const ChargedInstruction& step : steps) result.push_back(step.instruction);
  return result;
}

}  // namespace chorale
