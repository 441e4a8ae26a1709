// The strongest bounds that are known of a question without a solver. What prints a bound, a gap or a share
// of a bound has it from here, or from the claims of a search that has asked here.
//
// Each is a claim with a certificate that the checker (bounds/check.h) has accepted: of
// bounds/lower_bounds.h, what these show of any chunk count, and of trees at the prices of a packing
// (construct/engine/packer.h).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "bounds/lower_bounds.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

// Bounds for several questions about one collective, each computed when it is first asked. The machine,
// without switches, and the collective, with one chunk per block, must outlive it. Once `stop` is true no
// stronger bound is searched, and where none is known the claims have no certificate and 0 rounds. Throws
// InputError where a destination cannot be reached.
class StrongestBounds {
 public:
  StrongestBounds(const Topology&, const Collective& one, const std::atomic<bool>* stop = nullptr);
  StrongestBounds(const Topology&, Collective&&, const std::atomic<bool>* stop = nullptr) = delete;
  ~StrongestBounds();

  // Returns the bound of any schedule; the claim is about `chunks` chunks. 0: nothing has to move, and the
  // following must not be asked.
  const StepBound& fewest_steps(int chunks = 1);
  // Returns the fewest rounds per chunk, of any number of chunks and steps.
  const Claim& rate();
  // Returns the fewest rounds with `chunks` chunks, of at most `steps` steps. A caller that only needs to
  // know whether the bound reaches `enough` rounds passes it: then no stronger one is searched.
  Claim rounds(int chunks, int steps = kAnySteps, int enough = kNoSchedule);
  // Returns all of these, as claims of a result: each shows more than those before. None if nothing has to
  // move.
  std::vector<Claim> claims(int chunks, int steps = kAnySteps, int enough = kNoSchedule);

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace chorale
