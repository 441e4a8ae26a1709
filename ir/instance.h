// One question: does this collective have a schedule on this machine within this budget?
#pragma once

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

struct Budget {
  int steps = 1;   // at most
  int rounds = 1;  // at most, over all steps
  bool operator==(const Budget&) const = default;
};

struct Instance {
  Topology topology = {};  // without switches (flattened)
  Collective collective = {};
  Budget budget = {};
};

// Unknown (a limit was reached) is never read as Unsat.
enum class Verdict { Sat, Unsat, Unknown };

}  // namespace chorale
