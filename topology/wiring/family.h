// All wirings of a number of ports that are compared: the connected Cayley graphs of the groups of that
// order (topology/wiring/all_groups.h) whose links go there and back.
#pragma once

#include <atomic>
#include <vector>

#include "ir/design.h"
#include "topology/wiring/cayley.h"

namespace chorale {

// How much is compared, of all groups: images of sets under automorphisms, by their elements, and links of
// graphs that are measured; and such links once more, of groups that are sampled. By default some seconds in
// all.
struct WiringEffort {
  long long sets = 1'000'000'000, samples = 50'000'000;
};

struct WiringFamily {
  std::vector<CayleyGraph> graphs = {};   // group by group; isomorphic ones may be there
  std::vector<DesignFamily> groups = {};  // those that have graphs
  int groups_compared = 0;                // and those that have none of this degree
  bool all_groups = false;                // these are all groups of that order
  bool complete = false;                  // false: stopped before, or a group has too many and was sampled
};

// Of each group, sets of generators, closed under inverses, that are no automorphism's image of each other
// (of groups with thousands of automorphisms, some images are left); where that would take more than the
// effort, those of them that came first, and sets that no exchange of one generator makes shorter, from
// random ones on.
WiringFamily wirings(int ranks, int degree, const std::atomic<bool>* stop = nullptr,
                     const WiringEffort& = {});

// Returns links that are equal for isomorphic machines of this kind (links alike, without limits), and for no
// others.
std::vector<Cable> canonical_links(const Topology&);

}  // namespace chorale
