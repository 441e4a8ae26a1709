// From the innermost level out. A level is named by what its children are: one rank is a GPU, as many as a
// node has are a node, more are racks and pods. Two nodes of two sockets of four GPUs have the levels node,
// socket, gpu.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topology/cuts_to_levels.h"
#include "topology/route_graph.h"

namespace chorale {
namespace {

std::string unique_name(const std::string& name, std::set<std::string>& used) {
  for (int number = 1;; ++number)
    if (const std::string each = number == 1 ? name : fmt::format("{}{}", name, number);
        used.insert(each).second)
      return each;
}

}  // namespace

// A unit inside of a node is what the first switches on the route between two of its children are.
void name_levels(Hierarchy& hierarchy, const Topology& machine, int nodes) {
  if (nodes < 1 || machine.ranks % nodes != 0) return;
  const int per_node = machine.ranks / nodes;
  const RouteGraph graph(machine);
  std::set<std::string> used;
  int below = 1, outside = 0;  // units of several nodes so far
  std::vector<std::string> names(hierarchy.levels.size());
  hierarchy.node_level = 0;
  for (std::size_t j = hierarchy.levels.size(); j-- > 0;) {
    // The children of this level have `below` ranks.
    std::string name = below > per_node                 ? outside++ == 0 ? "rack" : "pod"
                       : below == per_node && nodes > 1 ? "node"
                       : below == 1                     ? "gpu"
                                                        : "";
    if (name.empty()) {
      // Ranks of a child of a child: the route from rank 0 to that rank leaves one and enters the next.
      int half = 1;
      for (std::size_t k = hierarchy.levels.size() - 1; k > j + 1; --k) half *= hierarchy.levels[k].fan_out;
      bool cpu = false, pci = false;
      for (const Node n : graph.route(0, half)) {
        cpu = cpu || node_kind(machine, n) == "CPU";
        pci = pci || node_kind(machine, n) == "PCI switch";
      }
      name = cpu ? "socket" : pci ? "pci" : "island";
    }
    names[j] = unique_name(name, used);
    below *= hierarchy.levels[j].fan_out;
    if (below > per_node) hierarchy.node_level = std::max(hierarchy.node_level, static_cast<int>(j) + 1);
  }
  for (std::size_t j = 0; j < names.size(); ++j) hierarchy.levels[j].name = names[j];
}

}  // namespace chorale
