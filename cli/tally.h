// What the rows of a command came to.
#pragma once

#include <cstdint>
#include <string>

#include "ir/collective.h"
#include "ir/run_options.h"

namespace chorale {

struct Tally {
  std::int64_t wrong = 0;  // elements
  bool agrees = true;      // ranks end with the same bits where sums are rounded

  void add(const RunRow&);
  bool is_good(const Collective&) const;  // nothing is wrong, and the ranks agree if they have to
  std::string faults() const;             // a line for each; empty: there are none
};

}  // namespace chorale
