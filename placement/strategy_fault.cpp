// A strategy is verified on a machine of its own, whose devices are all positions of the levels. That a
// smaller one stands for a larger one is no proof but a rule that the tests try on many sizes: groups at
// different positions of a level are copies of each other.
#include "placement/strategy_fault.h"

#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {

std::optional<Fault> strategy_fault(const std::vector<int>& sizes, const Strategy& strategy) {
  // Every level that is larger than 1 stays so. From the outermost in, each gets its true size if there is
  // room.
  std::vector<int> small(sizes.size(), 1);
  long long devices = 1;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (sizes[l] > 1) devices *= small[l] = 2;
  for (std::size_t l = 1; l < sizes.size(); ++l)
    if (devices / small[l] * sizes[l] <= kMostVerifiedDevices) {
      devices = devices / small[l] * sizes[l];
      small[l] = sizes[l];
    }
  std::vector<int> all(devices);
  for (int d = 0; d < devices; ++d) all[d] = d;
  LoweredStrategy lowered;
  for (const StrategyInstruction& instruction : strategy)
    lowered.push_back({instruction.operation, groups_of(small, instruction)});
  return fault(static_cast<int>(devices), lowered, {all});
}

}  // namespace chorale
