// Machines and collectives by their names. Libraries are also read in programs of others, which do not
// include the readers of machine descriptions; the code that builds, verifies or merges libraries passes them
// in (api/library.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/outline.h"
#include "ir/topology.h"

namespace chorale {

// Each throws InputError for an unknown name, and for a file that cannot be read.
struct Machines {
  std::function<Topology(const std::string& spec)> machine = {};        // without switches
  std::function<Nesting(const std::string& spec)> levels = {};          // its nesting groups
  std::function<std::vector<int>(const std::string& spec)> hosts = {};  // by rank; empty: not defined
  // Names of the machine after each single failure: those that its ranks can still do collectives on.
  std::function<std::vector<std::string>(const std::string& spec)> failures = {};
  // With one chunk per block. `order` of its sums; "": any.
  std::function<Collective(const std::string& name, const Topology&, std::optional<Rank> root,
                           const std::string& order)>
      collective = {};
};

}  // namespace chorale
