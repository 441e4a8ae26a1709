// The sends of a packing, and which of them wait for which: what is put into steps.
#pragma once

#include <vector>

#include "construct/engine/list_scheduling.h"
#include "construct/engine/network.h"
#include "construct/engine/packing.h"
#include "ir/collective.h"
#include "ir/schedule.h"

namespace chorale {

// A job is a send of the packing, and stands for its images under the network's group.
class Jobs : public SendGraph {
 public:
  // Makes the jobs of the representatives of classes up to the network's group. All three must outlive this.
  Jobs(const Network&, const ClassOrbits&, const ChunkPacking&);

  int pieces() const { return static_cast<int>(of_.size()); }
  int piece(int j) const { return piece_[j]; }  // chunk, numbered class after class
  int class_of(int piece) const { return of_[piece].of; }
  const ChunkPacking& packing() const { return packing_; }

  // As a schedule of `whole`, which has chunks * copies (times the unit of the classes) per block, with all
  // that the group makes of each job.
  // Where a rank has no contribution of its own, what it is sent first of a sum is stored, not added.
  Schedule schedule(const Collective& whole, int copies, const StepAssignment&) const;

 private:
  struct Piece {
    int of = 0;      // class
    int number = 0;  // in the class
  };

  void add_tree(const ChunkTree&, Piece);

  const ClassOrbits& classes_;
  const ChunkPacking& packing_;
  std::vector<Piece> of_ = {};
  std::vector<int> piece_ = {};
  std::vector<char> sums_ = {};
  std::vector<std::vector<int>> sums_into_ = {};  // by rank, of the tree that is added
  std::vector<int> copy_into_ = {};
};

}  // namespace chorale
