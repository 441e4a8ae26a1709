// Schedules of a collective on a machine, of whatever chunk count pays.
#pragma once

#include <atomic>
#include <functional>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

inline constexpr long long kEngineWork = 200'000'000;

struct EngineQuestion {
  const Topology& topology;  // flattened: without switches
  const Collective& one;     // one chunk per block, of any kind or a custom one
  int min_chunks = 1;
  int max_chunks = 0;  // 0: as many as pay; the engine chooses
  int max_steps = kAnySteps;
  int extra_rounds = kAnyRounds;  // k-synchronous: rounds <= steps + k
  Rate bound = {};                // no schedule has fewer rounds per chunk; rounds 0: nothing is known
  const std::atomic<bool>* stop = nullptr;
  long long work = kEngineWork;  // link relaxations; the same on every machine
};

// Calls `found` for each schedule that is better than all before in steps or in rounds per chunk: cost.chunks says for how many
// chunks a block, its collective is with_chunks(one, chunks), it is verified, and its construction is named. What is quick comes
// first. More work and a later stop return the same points and then more; a larger max_chunks returns no worse ones.
void construct(const EngineQuestion&, const std::function<void(Point)>& found);

}  // namespace chorale
