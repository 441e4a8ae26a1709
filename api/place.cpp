#include "api/place.h"

#include "placement/place.h"
#include "topology/machines.h"

namespace chorale {

Hierarchy hierarchy(const std::string& spec_or_file, const MachineChanges& changes) {
  return load_hierarchy(spec_or_file, changes);
}

Ranking place(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options) {
  return rank_placements(hierarchy, job, options);
}

}  // namespace chorale
