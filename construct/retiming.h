// A schedule's sends in other steps.
#pragma once

#include <optional>
#include <vector>

#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Schedules of the same sends, each as early as what it reads is there and as links and limits have room, in
// steps of at most w rounds, for w from 1 on, growing by a third (but for what must happen at once and takes
// more). Every rank's values come about as before, so the schedule's postcondition stays. Sends of other
// chunks over other links, which followed each other, now overlap. Requires a schedule that the verifier
// accepts. There are as many as the work budget allows.
std::vector<Schedule> retimings(const Topology&, const Schedule&, WorkBudget&);

// Where links differ in latency a step takes that of its slowest link. So sends over the slowest links belong
// into as few steps as they can be in, even if these take more rounds: dgx-a100:2 Alltoall, 8 rounds in two
// steps that both wait for NICs, takes 10.0 us at 1 KiB, and 5.7 if all that NICs send is in the first.

// The same sends, those over the links of greatest latency in fewer steps, each step with the rounds that it
// needs. Nothing where links are alike or no step can be rid of them; nothing for sums. No chunk may come to
// a rank twice.
std::optional<Schedule> slow_links_together(const Topology&, const Collective&, const Schedule&);

}  // namespace chorale
