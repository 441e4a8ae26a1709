// Who moves how much, whatever the time it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

struct RankTraffic {  // in chunks
  std::int64_t sent = 0;
  std::int64_t received = 0;
  bool operator==(const RankTraffic&) const = default;
};

struct Traffic {
  std::vector<RankTraffic> ranks = {};
  std::int64_t total = 0;  // chunks moved; a chunk that is relayed counts once a hop
  bool operator==(const Traffic&) const = default;
};

// Requires a schedule without violations. Bytes are chunks * (bytes of a block) / chunks_per_block.
Traffic traffic(const Topology&, const Schedule&);

}  // namespace chorale
