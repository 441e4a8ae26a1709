// A machine as foreign files describe it, between a reader and a Topology: nodes with names, lines with real
// rates.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/node_order.h"
#include "topology/hardware/facts.h"

namespace chorale {

struct WiringNode {
  enum class Kind { Gpu, Cpu, PciSwitch, NvSwitch, Nic, Network };
  Kind kind = Kind::Gpu;
  std::string name = {};            // "gpu3 (0000:89:00.0)"
  std::set<std::string> nics = {};  // that are a part of the links between it and the network
  bool computes = false;            // an NVSwitch that copies and adds
};

struct WiringLine {  // one direction
  int src = 0, dst = 0;
  double gbs = 0;       // > 0
  double alpha_us = 0;  // of a step over it
};

struct Wiring {
  std::vector<WiringNode> nodes =
      {};  // GPUs are ranks, in this order; everything else forwards and holds nothing
  std::vector<WiringLine> lines = {};
  double call_us = 0;                   // of a call on the machine (ir/topology.h)
  const GpuFacts* computing = nullptr;  // GPUs whose NVSwitches do so; null: all only forward
  // What was read in the files, and what they lack and was assumed; one sentence each.
  std::vector<std::string> read = {}, assumed = {};

  int add(WiringNode::Kind, std::string name);           // its number
  void join(int a, int b, double gbs, double alpha_us);  // both directions
};

// Two rings over the GPUs of a DGX-1: calls join(a, b, links) for one with two NVLinks an edge, and one with
// one.
template <typename Join>
void join_two_rings(const Join& join) {
  constexpr int kTwo[] = {0, 1, 3, 2, 6, 7, 5, 4}, kOne[] = {0, 2, 1, 5, 6, 4, 7, 3};
  for (int i = 0; i < 8; ++i) {
    join(kTwo[i], kTwo[(i + 1) % 8], 2);
    join(kOne[i], kOne[(i + 1) % 8], 1);
  }
}

// Where a node of a cluster meets the network: a NIC, or a GPU that has one of its own.
struct NetworkPort {
  int node = 0;         // of the cluster, from 0
  int out = 0, in = 0;  // of the wiring: what sends into the network, and what receives from it
  double gbs = 0;       // in each direction
  double alpha_us = 0;
};

// Joins the nodes by these switches: node n is host n. A link up carries what all ports below it do. Paths
// within a node lead through its switch, too.
void join_network(Wiring&, const std::vector<NetworkPort>&, const SwitchTree&);

// Joins the nodes by a non-blocking network, and records that. Within a node no path leads through it, as
// long as it is described in 100,000 lines; if it is not, or on request, the network is one switch.
void join_network(Wiring&, const std::vector<NetworkPort>&, int nodes, bool within_nodes);

inline constexpr int kMostWiringNodes = 200'000;

// The same machine with fewer lines and nodes, each change recorded in `read`: lines between the same two
// nodes are one; NVSwitches that join the same GPUs in the same shares are one; dead ends are left out; and a
// node between just two others becomes a part of the line between them.
Wiring simplified(Wiring);

}  // namespace chorale
