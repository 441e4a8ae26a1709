// The switches of a cluster's network as a tree, with hosts on its leaves.
#pragma once

#include <string>
#include <vector>

namespace chorale {

struct SwitchTree {
  std::vector<std::string> hosts = {};     // nodes, in the order in which the switches have them
  std::vector<std::string> switches = {};  // by name
  std::vector<int> leaf = {};              // by host: the switch that it hangs on
  std::vector<int> above = {};             // by switch: the one that it hangs on; -1: none
  bool operator==(const SwitchTree&) const = default;
};

}  // namespace chorale
