// Machines small enough to count by hand; made here, so that the verifier is tested without its neighbours.
#pragma once

#include <string>

#include "ir/topology.h"

namespace chorale::test {

// 0 -> 1 -> ... -> n-1 -> 0 and back; link 2i is i -> i+1, link 2i+1 is i+1 -> i.
inline Topology ring(int n) {
  Topology t{.name = "ring", .ranks = n};
  for (Rank i = 0; i < n; ++i) {
    t.links.push_back({.src = i, .dst = (i + 1) % n});
    t.links.push_back({.src = (i + 1) % n, .dst = i});
  }
  return t;
}

// Every ordered pair has a link; i -> j comes before i -> j+1, and all of i before those of i+1.
inline Topology full(int n) {
  Topology t{.name = "full", .ranks = n};
  for (Rank i = 0; i < n; ++i)
    for (Rank j = 0; j < n; ++j)
      if (i != j) t.links.push_back({.src = i, .dst = j});
  return t;
}

// full(n) where each rank sends one chunk per round and receives one.
inline Topology hub(int n) {
  Topology t = full(n);
  t.name = "hub";
  for (Rank i = 0; i < n; ++i) {
    SharedLimit out{.name = "out of " + std::to_string(i)}, in{.name = "into " + std::to_string(i)};
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l) {
      if (t.links[l].src == i) out.links.push_back(l);
      if (t.links[l].dst == i) in.links.push_back(l);
    }
    t.limits.push_back(out);
    t.limits.push_back(in);
  }
  return t;
}

}  // namespace chorale::test
