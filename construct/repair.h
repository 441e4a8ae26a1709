// A schedule made whole again after links or ranks of its machine have failed.
#pragma once

#include <atomic>
#include <vector>

#include "graph/embedding.h"
#include "ir/collective.h"
#include "ir/schedule.h"

namespace chorale {

struct MovedParts {                // from the machine that was to the one that is
  std::vector<Rank> ranks = {};    // by old rank; -1: gone
  std::vector<Chunk> chunks = {};  // by old chunk; -1: gone
};

// Ranks that are gone, in ascending order: those behind move up. Chunks are those of the same blocks, of a
// collective that is not custom; of a custom one no rank may be gone.
MovedParts moves_without(const std::vector<Rank>& gone, const Collective& before);

struct Patched {
  std::vector<Schedule> schedules = {};  // by steps, none better than another in both steps and rounds
  long long sends = 0;                   // of the old one
  long long lost = 0;                    // of these, whose link, rank or chunk is gone
};

// The intact sends of the old schedule are kept; a rank that no longer receives a chunk gets it from the
// nearest holder, over links that are not full; and all is put in steps again, as it was and as early as
// possible. Each result is verified. Empty if a destination cannot be reached any more, or when stopped. Of a
// sum for several ranks each chunk must go up a tree and down a tree; a chunk that does not is planned again.
// `now.collective` is of the old one's kind and chunks, on the remaining ranks.
Patched patched(const Task& before, const Schedule&, const MovedParts&, const Task& now,
                const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
