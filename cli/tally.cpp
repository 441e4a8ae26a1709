// Ranks that end with different bits are wrong unless the collective allows it (--order free): replicas that
// drift apart are a fault even where each rank's sum is right.
#include "cli/tally.h"

#include "ir/words.h"

namespace chorale {

void Tally::add(const RunRow& row) {
  wrong += row.wrong;
  agrees = agrees && row.agrees;
}

bool Tally::is_good(const Collective& collective) const {
  return wrong == 0 && (agrees || collective.order.kind == SumOrder::Kind::Free);
}

std::string Tally::faults() const {
  return (wrong == 0 ? "" : counted(wrong, "wrong element") + "\n") +
         (agrees ? "" : "ranks end with different bits where sums are rounded\n");
}

}  // namespace chorale
