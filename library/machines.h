// Machines and collectives by their names. Libraries are read in programs of others, too, into which nothing
// comes that reads descriptions of machines; whoever builds, verifies or merges them gives it
// (api/library.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/outline.h"
#include "ir/topology.h"

namespace chorale {

// Each throws InputError for what is no name, or no readable file.
struct Machines {
  std::function<Topology(const std::string& spec)> machine = {};        // without switches
  std::function<Nesting(const std::string& spec)> levels = {};          // its nesting groups
  std::function<std::vector<int>(const std::string& spec)> hosts = {};  // by rank; empty: it does not say
  // Of one chunk a block. `order` of its sums; "": any.
  std::function<Collective(const std::string& name, const Topology&, std::optional<Rank> root,
                           const std::string& order)>
      collective = {};
};

}  // namespace chorale
