// Can what is begun still be ended? (Edmonds 1973: disjoint branchings with prescribed roots.)
#pragma once

#include <map>
#include <vector>

#include "bounds/wires.h"
#include "construct/ground.h"

namespace chorale {

// Chunks that some ranks have can all come to all ranks, within given widths of the wires, exactly if for
// every rank by itself those that it lacks can flow to it at once from who has them. (With switches: wires in
// and out of each carry the same; then ways through it can be split off as they are used, and the condition
// stays: Mader 1978, Frank.)
class Guard {
 public:
  explicit Guard(const Ground& ground) : ground_(ground), wires_(wires_of(ground.topology())) {}

  // For all representatives, where wires are as wide as so many rounds.
  bool passes(const Holdings&, long long rounds) const;

  const Wires& wires() const { return wires_; }

 private:
  // How many chunks the same ranks have.
  using Holders = std::map<std::vector<Rank>, int>;
  bool passes(const Holders&, Rank v, long long rounds) const;

  const Ground& ground_;
  const Wires wires_;
};

}  // namespace chorale
