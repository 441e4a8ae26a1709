// The order of a job's nodes: which host of an allocation is at which position of the mesh of its axes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/placement.h"

namespace chorale {

// The switches of a cluster's network as a tree, with hosts on its leaves.
struct SwitchTree {
  std::vector<std::string> hosts = {};     // nodes, in the order in which the switches have them
  std::vector<std::string> switches = {};  // by name
  std::vector<int> leaf = {};              // by host: the switch that it hangs on
  std::vector<int> above = {};             // by switch: the one that it hangs on; -1: none
  bool operator==(const SwitchTree&) const = default;
};

// The hosts that a job was given, on the switches of the whole cluster.
struct Allocation {
  SwitchTree cluster = {};
  std::vector<int> hosts = {};  // of cluster.hosts; as the job's list has them
  bool operator==(const Allocation&) const = default;
};

// What is known about rates: a switch whose level is l (leaves: 0) has a link up that carries the rates of
// all hosts of the cluster below it, over taper[l] (the last one for further levels); >= 1.
struct NetworkRates {
  double node_gbs = 50;  // of a node, in each direction; 1e9 bytes per second
  std::vector<double> tapers = {2};
  bool operator==(const NetworkRates&) const = default;
};

struct OrderQuestion {
  Job job = {};        // no reduction names its predecessors: one runs after the other
  int node_ranks = 8;  // consecutive positions of the mesh of the axes, the first axis the slowest
  NetworkRates rates = {};
  long long moves = 900'000;  // of the local search, over all its starts
  long long nodes = 300'000;  // of the exact search, which is asked if the bound is not met
};

// A time of the job's communications: bytes over the busiest link, without latencies.
struct OrderTime {
  double us = 0;     // of all of an iteration
  double bytes = 0;  // over links between switches, in an iteration
  bool operator==(const OrderTime&) const = default;
};

struct OrderedCommunication {
  std::string name = {};
  double us = 0;             // of an iteration
  double least_us = 0;       // that the rates of nodes alone allow
  std::string busiest = {};  // "links of nodes", or a switch, by name
  bool operator==(const OrderedCommunication&) const = default;
};

struct NodeOrder {
  Job job = {};
  int node_ranks = 1;
  NetworkRates rates = {};
  std::vector<std::string> hosts = {};     // node n of the mesh is hosts[n]
  std::vector<std::string> switches = {};  // by node: the one that it hangs on
  OrderTime time = {};
  double bound_us = 0;     // no order takes less
  bool proven = false;     // time.us == bound_us
  std::string proof = {};  // "the bound is met", "exhaustive search"; "" if not proven
  std::vector<OrderedCommunication> communications = {};
  std::vector<std::pair<std::string, OrderTime>> others = {};  // other orders: "alphabetical", "by switch"
  bool operator==(const NodeOrder&) const = default;
};

// Returns {"chorale_order": 1, ...}; docs/formats.md.
std::string to_json(const NodeOrder&);

}  // namespace chorale
