// Narrower questions, every answer of which answers the wide one: schedules that are regular in some way.
// Their formulas are smaller by as much, and of a machine's good schedules mostly some are regular. That
// there is none of the kind says nothing of the others.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"
#include "symmetry/automorphisms.h"

namespace chorale {

struct Narrowing {
  // Carried to themselves by these.
  std::vector<Automorphism> symmetry = {};
  // Every send brings its chunk nearer to the one rank that wants it.
  bool nearer = false;
  // Chunks that start and end at the same ranks go together, so many at a time: a schedule of the others,
  // told so many times over.
  int together = 1;
};

// Of a collective that encodings take, the smallest formulas first; each fits the collective.
std::vector<Narrowing> narrowings(const Topology&, const Collective&);

// Of each so many equal chunks the first; requires that their numbers can be divided.
Collective first_of(const Collective&, int together);
// The schedule of first_of(whole, together) as one of the whole, in so many times the rounds.
Schedule told_for_all(const Topology&, const Collective& whole, int together, Schedule);

}  // namespace chorale
