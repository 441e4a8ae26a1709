// A machine as a hierarchy: racks of servers of GPUs. Level 0 is the outermost; a device is one digit a
// level. What joins the children of one unit is a link model; flows are priced over it by cost/simulator.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

// A path that some children of a unit share, as much in each direction.
struct SharedPath {
  double bandwidth_gbs = 0;
  int children = 1;  // this many consecutive children share one
  bool operator==(const SharedPath&) const = default;
};

// A host between devices: its memory, and what leads there. What goes through it comes up from one child,
// over to another socket if the other end is there, and down again; two children below one uplink take it up
// and down all the same. Its memory itself is never what is slow.
struct HostPath {
  SharedPath uplink = {};  // from children to their socket: PCIe
  // this many children hang on one, a multiple of the uplink's; its link to the others
  SharedPath socket = {};
  bool operator==(const HostPath&) const = default;
};

struct LinkModel {
  enum class Shape {
    Switch,  // every child has ports into a non-blocking switch
    Ring,    // every child is linked with the next and the previous one, the last with the first
  };
  Shape shape = Shape::Switch;
  double bandwidth_gbs = 1;  // of a port or ring link, each direction (1 GB = 1e9 bytes)
  int ports = 1;             // of a child (NICs); a flow is spread over all of them
  double latency_us = 0;     // of one message
  double stream_gbs = 0;     // the most that one flow gets; 0: no such cap
  // Devices reach only those at the same place of other children (a NIC for each GPU, on its rail). For the
  // graph of the machine (topology/levels.h); the price of a group's flows is the same.
  bool rails = false;
  // In a switch that copies and adds: an AllReduce among eight children is this many times as fast as by
  // ports alone (Topology::switch_gain; fewer children: gain_of_ports). 0: it only forwards.
  double switch_gain = 0;
  // The path between a child and other units (PCIe to the NIC). Without one, traffic uses the child's ports;
  // in a ring it is not modelled.
  std::optional<SharedPath> exit = {};
  // In a ring: the path between children that are not neighbours (through the host's memory), both directions
  // together. Without one, around the ring.
  std::optional<SharedPath> detour = {};
  // In a ring, in place of both: children that are not neighbours reach each other through the host, and the
  // path to other units hangs on the first socket.
  std::optional<HostPath> host = {};
  bool operator==(const LinkModel&) const = default;
};

struct Level {
  std::string name = {};
  int fan_out = 1;
  LinkModel link = {};  // joins the fan_out children of one unit of the level above
  bool operator==(const Level&) const = default;
};

struct Hierarchy {
  std::string name = {};
  std::vector<Level> levels = {};
  int node_level = 0;  // levels from this on are inside one node: tree algorithms chain there
  double call_us = 0;  // microseconds that a call costs beside its messages, as Topology::call_us
  bool operator==(const Hierarchy&) const = default;
};

long long devices(const Hierarchy&);

// Text form: docs/formats.md. Reading throws InputError that names the place.
std::string to_json(const Hierarchy&);
Hierarchy hierarchy_from_json(std::string_view text, const std::string& file);

}  // namespace chorale
