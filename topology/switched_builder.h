// Builds a machine of ranks and switches, whose rates are integers in one unit. A NIC that several GPUs share
// has one switch for sending and one for receiving: a single one would be a path from GPU to GPU, which NICs
// are not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/topology.h"

namespace chorale {

// How far rates of named machines may be off as chunks per round (topology/import/fit.h).
inline constexpr double kNamedError = 0.02;

// Microseconds for a port, of which a path takes two; together as in topology/builders.cpp.
inline constexpr double kNvlinkPort = 0.35, kNetworkPort = 2.5, kDirect = 0.7;

class SwitchedBuilder {
 public:
  // gbs: of one unit; call_us: of a call (ir/topology.h).
  SwitchedBuilder(int ranks, double gbs, double call_us = 0) : beta_(1e-3 / gbs) {
    machine_.ranks = ranks;
    machine_.call_us = call_us;
  }

  Node add_switch() { return machine_.ranks + machine_.switches++; }
  void one_way(Node src, Node dst, int bandwidth, double alpha_us) {
    machine_.links.push_back(
        {.src = src, .dst = dst, .bandwidth = bandwidth, .alpha_us = alpha_us, .beta_us_per_byte = beta_});
  }
  void join(Node a, Node b, int bandwidth, double alpha_us) {
    one_way(a, b, bandwidth, alpha_us);
    one_way(b, a, bandwidth, alpha_us);
  }
  // Consecutive ranks share a NIC of so many units into the network.
  void add_nic(Rank first, int ranks, Node network, int units = 1, double port_us = kNetworkPort) {
    if (ranks == 1) return join(first, network, units, port_us);
    const Node out = add_switch(), in = add_switch();
    for (Rank n = first; n < first + ranks; ++n) {
      one_way(n, out, units, 0);
      one_way(in, n, units, 0);
    }
    one_way(out, network, units, port_us);
    one_way(network, in, units, port_us);
  }
  Topology machine() { return std::move(machine_); }

 private:
  Topology machine_ = {};
  double beta_;
};

// Each rank sends at most `bandwidth` chunks per round over those of its links that `chosen` accepts, and
// receives as many.
template <typename Chosen>
void limit_ports(Topology& t, const std::string& name, int bandwidth, Chosen chosen) {
  std::vector<std::vector<LinkId>> out(t.ranks), in(t.ranks);
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
    if (!chosen(t.links[l])) continue;
    out[t.links[l].src].push_back(l);
    in[t.links[l].dst].push_back(l);
  }
  const auto limit = [&](const char* way, Rank n, std::vector<LinkId>& links) {
    if (!links.empty()) t.limits.push_back({name + way + std::to_string(n), std::move(links), bandwidth});
  };
  for (Rank n = 0; n < t.ranks; ++n) {
    limit(" out ", n, out[n]);
    limit(" in ", n, in[n]);
  }
}

}  // namespace chorale
