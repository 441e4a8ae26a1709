// The strategy without its prices.
#include "ir/ranking.h"

namespace chorale {

Strategy RankedStrategy::strategy() const {
  Strategy result;
  for (const PricedInstruction& priced : instructions) result.push_back(priced.instruction);
  return result;
}

}  // namespace chorale
