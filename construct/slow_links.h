// Where links differ in latency a step takes that of its slowest link. So sends over the slowest links belong
// into as few steps as they can be in, even if these take more rounds: dgx-a100:2 Alltoall, 8 rounds in two
// steps that both wait for NICs, takes 10.0 us at 1 KiB, and 5.7 if all that NICs send is in the first.
#pragma once

#include <optional>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// The same sends, those over the links of greatest latency in fewer steps, each step with the rounds that it
// needs. Nothing where links are alike or no step can be rid of them; nothing for sums. No chunk may come to
// a rank twice.
std::optional<Schedule> slow_links_together(const Topology&, const Collective&, const Schedule&);

}  // namespace chorale
