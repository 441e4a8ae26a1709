// Small machines, built here and in tests/semantics, so that these tests stand on ir/ alone.
#pragma once

#include <string>
#include <vector>

#include "ir/topology.h"
#include "tests/semantics/machines.h"

namespace chorale {

using test::full;
using test::hub;  // hub(16) is DGX-2
using test::ring;

inline Topology no_links(int ranks) {
  return {.name = "test", .ranks = ranks};
}

inline void add_link(Topology& t, int a, int b, int bandwidth = 1) {
  t.links.push_back({.src = a, .dst = b, .bandwidth = bandwidth});
}

inline void add_both_ways(Topology& t, int a, int b, int bandwidth = 1) {
  add_link(t, a, b, bandwidth);
  add_link(t, b, a, bandwidth);
}

inline Topology line(int n) {
  Topology t = no_links(n);
  for (int i = 0; i + 1 < n; ++i) add_both_ways(t, i, i + 1);
  return t;
}

inline Topology hypercube(int d) {
  Topology t = no_links(1 << d);
  for (int a = 0; a < t.ranks; ++a)
    for (int i = 0; i < d; ++i)
      if (!(a >> i & 1)) add_both_ways(t, a, a | 1 << i);
  return t;
}

inline Topology grid(int rows, int columns, bool wrapped) {
  Topology t = no_links(rows * columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      if (c + 1 < columns || wrapped) add_both_ways(t, r * columns + c, r * columns + (c + 1) % columns);
      if (r + 1 < rows || wrapped) add_both_ways(t, r * columns + c, (r + 1) % rows * columns + c);
    }
  return t;
}

// SCCL's: two NVLinks on one Hamiltonian cycle, one on another.
inline Topology dgx1() {
  Topology t = no_links(8);
  const std::vector<int> twice = {0, 1, 4, 5, 6, 7, 2, 3}, once = {0, 2, 1, 3, 6, 4, 7, 5};
  for (int i = 0; i < 8; ++i) {
    add_both_ways(t, twice[i], twice[(i + 1) % 8], 2);
    add_both_ways(t, once[i], once[(i + 1) % 8], 1);
  }
  return t;
}

// A shared limit over each rank's links out, and one over its links in, for the links that `counts` states.
template <class Counts>
void add_ports(Topology& t, int bandwidth, Counts counts) {
  for (int n = 0; n < t.ranks; ++n) {
    SharedLimit out{.name = "out", .bandwidth = bandwidth}, in{.name = "in", .bandwidth = bandwidth};
    for (int l = 0; l < static_cast<int>(t.links.size()); ++l) {
      if (!counts(t.links[l])) continue;
      if (t.links[l].src == n) out.links.push_back(l);
      if (t.links[l].dst == n) in.links.push_back(l);
    }
    if (!out.links.empty()) t.limits.push_back(out);
    if (!in.links.empty()) t.limits.push_back(in);
  }
}

// Nodes of eight on a switch with 12 units in and out per rank; equal ranks of all nodes on a network with
// one.
inline Topology dgx_a100(int nodes) {
  Topology t = no_links(8 * nodes);
  for (int a = 0; a < t.ranks; ++a)
    for (int b = 0; b < t.ranks; ++b) {
      if (a == b) continue;
      if (a / 8 == b / 8) add_link(t, a, b, 12);
      if (a % 8 == b % 8) add_link(t, a, b, 1);
    }
  add_ports(t, 12, [](const Link& l) { return l.src / 8 == l.dst / 8; });
  add_ports(t, 1, [](const Link& l) { return l.src / 8 != l.dst / 8; });
  return t;
}

}  // namespace chorale
