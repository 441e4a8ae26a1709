// Schedules after failures: what is left of old ones, made whole again.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/machine_changes.h"

namespace chorale {

struct Repair {
  std::vector<Point> known = {};  // to begin a search with: FrontierOptions::known
  Cost before = {};               // of the old point with the fewest rounds per chunk
  std::optional<Cost> patched =
      {};  // the best of what was made of the old points, of its own; none: nothing could be
  long long sends = 0, lost = 0;  // of all old schedules on their frontier; `lost` had no link any more
};

// The points of a result for the machine before the changes, patched for the machine after them: each keeps
// what still works (construct/repair.h). `asked`: the collective on the ranks that are left, as
// collective() gives it. Throws InputError at "--repair" where the result is of another collective or
// machine, or of one whose root is gone.
Repair repair(const Result& old, const std::string& spec_or_file, const MachineChanges&,
              const Collective& asked, const std::atomic<bool>* stop = nullptr);

// What a point moves of a block in a second, on links that are full: 1e9 bytes.
double rate_gbs(const Topology&, const Cost&);

}  // namespace chorale
