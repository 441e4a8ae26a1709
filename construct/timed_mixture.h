// How much of each chunk should go along which tree in time, so that steps are as narrow as they can be.
#pragma once

#include <vector>

#include "construct/effort.h"
#include "construct/link_orbits.h"
#include "ir/rank_set.h"
#include "ir/topology.h"

namespace chorale {

// Over a link, in a step from 0.
struct TimedSend {
  int step = 0;
  LinkId link = 0;
  auto operator<=>(const TimedSend&) const = default;
};
using TimedSends = std::vector<TimedSend>;

// Chunks that start in the same ranks and go to all others.
struct TreeClass {
  RankSet roots = {};
  int chunks = 1;
};

// Steps if chunks could be cut as one likes: what whole chunks are to come near to.
struct TimedMixture {
  struct Part {
    int of = 0;  // class
    double chunks = 0;
    TimedSends sends = {};  // a tree, in order
  };
  std::vector<double> rounds = {};  // by step
  std::vector<Part> parts = {};     // by class; those of a class are all its chunks
};

// Mostly within some per cent of the best that there is; how near, nobody knows, since a cheapest tree is itself only nearly found.
// With a group, classes are of representatives, and what these do all of their orbits do. No parts where some rank is out of
// reach in so many steps, or where the effort, in links looked at, does not do. The same question has the same answer.
TimedMixture mix_trees(const Topology&, const LinkOrbits&, const std::vector<TreeClass>&, int steps, Effort&);

// Looks that a mixture takes, about.
double looks_of_mixture(const Topology&, int classes, int steps);

}  // namespace chorale
