// Sums and copies in a pipeline: chunks go up trees and down again, or only down, one after the other, and their sends are put in
// steps.
#pragma once

#include <atomic>
#include <vector>

#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A tree up which a chunk is added up, and one down which its sum goes; mostly the same. By rank the one above; -1 at the root. What
// is only copied has no `up`, and may have several roots.
struct SumTree {
  std::vector<Rank> up = {};
  std::vector<Rank> down = {};
};

// AllReduces of so many chunks that take the trees in turns, by steps, none better than another in both: of few steps and many
// rounds, and of more steps and fewer rounds. `rounds` is what all trees together load the fullest link or limit with, once
// each; those of all chunks, but for the rounds that it takes to fill the trees and to empty them, is what narrow steps come to.
// Of many sends fewer widths of steps are tried. Each tree must span the ranks over links that there are.
std::vector<Schedule> pipelines(const Topology&, const std::vector<SumTree>&, int chunks, int rounds,
                                const std::atomic<bool>* stop = nullptr);

// Copies of chunks that have a tree each, by number, as above. Steps become narrower: each takes a share of the rounds that the fullest
// link or limit still needs, so that what comes last can still be spread, in few steps where other links have room.
std::vector<Schedule> copy_pipelines(const Topology&, const std::vector<SumTree>&,
                                     const std::vector<int>& tree_of,
                                     const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
