#include "ir/node_label.h"

#include <algorithm>
#include <string_view>

namespace chorale {

std::string label_of(const Topology& topology, Node node) {
  std::string name = node < std::ssize(topology.labels) ? topology.labels[node].name : "";
  name.resize(std::min({name.size(), name.find(" ("), name.find(", ")}));
  for (const std::string_view direction : {" out", " in"})
    if (name.ends_with(direction)) name.resize(name.size() - direction.size());
  return name;
}

}  // namespace chorale
