// What is to be different about a machine: cables that failed, ranks that are gone, links that are slow,
// switches that compute; and what the file of another tool leaves open.
#pragma once

#include <string>
#include <vector>

#include "ir/import_options.h"
#include "ir/topology.h"

namespace chorale {

// Nodes by the names that 'chorale topology show' prints: "3", "switch0". A link is "A-B" for both
// directions, "A>B" for one; all links between the two are meant.
struct MachineChanges {
  std::vector<std::string> without_links = {};  // "0-1"
  std::vector<std::string> without_ranks = {};  // "5"
  std::vector<std::string> degraded = {};       // "0-1=0.5": what is left of the bandwidth
  Abilities switches = {};                      // that all of them are given
  ImportOptions import = {};                    // of a file of another tool; else the default
  // Is the machine another than the one that is described?
  bool any() const {
    return !without_links.empty() || !without_ranks.empty() || !degraded.empty() || switches.any();
  }
  bool operator==(const MachineChanges&) const = default;
};

}  // namespace chorale
