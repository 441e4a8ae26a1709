// Restrictions: questions whose every answer also answers the unrestricted one, about schedules that are
// regular in some respect. Their formulas are smaller, and mostly some of a machine's good schedules are
// regular. An Unsat of a restriction implies nothing about other schedules.
#pragma once

#include <vector>

#include "graph/automorphisms.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

struct Restriction {
  // Carried to themselves by these.
  std::vector<Automorphism> symmetry = {};
  // Every send brings its chunk nearer to the one rank that needs it.
  bool nearer = false;
  // Chunks that start and end at the same ranks go together, `together` at a time: a schedule of the first of
  // each, repeated `together` times.
  int together = 1;
};

// Of a collective that encodings take, the smallest formulas first; each fits the collective.
std::vector<Restriction> restrictions(const Topology&, const Collective&);

// Of each `together` equal chunks the first; requires that their numbers are divisible by it.
Collective first_of(const Collective&, int together);
// The schedule of first_of(whole, together) as one of the whole, with `together` times the rounds.
Schedule repeated_for_all(const Topology&, const Collective& whole, int together, Schedule);

}  // namespace chorale
