// The sends of a packing, and which of them wait for which: what is put into steps.
#pragma once

#include <span>
#include <vector>

#include "construct/class_orbits.h"
#include "construct/network.h"
#include "construct/packing.h"
#include "ir/chunk_classes.h"
#include "ir/collective.h"
#include "ir/schedule.h"

namespace chorale {

// The classes of chunks of which something has to move; by pre, then post.
std::vector<ChunkClass> moving_classes(const Collective&);

// Without empty steps, sends sorted, each step with the rounds that it needs; and where a rank has no
// contribution of its own, what it is sent first of a sum is stored, not added.
Schedule tidy_sums(const Topology&, const Collective&, Schedule);

// Which step each job is in, and how many rounds each step has; jobs of a packing that is repeated, copy
// after copy.
struct StepAssignment {
  std::vector<int> step_of = {};  // [copy * jobs + job]
  std::vector<int> rounds = {};   // [step]
  long long total_rounds() const;
};

class Jobs {
 public:
  // Of the representatives of classes up to the network's group. All three must outlive this.
  Jobs(const Network&, const ClassOrbits&, const ChunkPacking&);

  int count() const { return static_cast<int>(links_.size()); }
  int pieces() const { return static_cast<int>(of_.size()); }
  LinkId link(int j) const { return links_[j]; }
  int piece(int j) const { return piece_[j]; }  // chunk, numbered class after class
  int class_of(int piece) const { return of_[piece].of; }
  int height(int j) const { return height_[j]; }    // sends that must follow it, one after the other
  int waits_for(int j) const { return waits_[j]; }  // jobs
  std::span<const int> after(int j) const {         // jobs that wait for it
    return std::span(after_).subspan(first_after_[j], first_after_[j + 1] - first_after_[j]);
  }
  const std::vector<int>& in_order() const { return in_order_; }  // each after those that it waits for
  const Network& network() const { return network_; }
  const ChunkPacking& packing() const { return packing_; }
  // Jobs over each bin.
  const std::vector<double>& load() const { return load_; }

  // As a schedule of `whole`, which has chunks * copies (times the unit of the classes) per block, with all that the group makes of each job.
  // Where a rank has no contribution of its own, what it is sent first of a sum is stored, not added.
  Schedule schedule(const Collective& whole, int copies, const StepAssignment&) const;

 private:
  struct Piece {
    int of = 0;      // class
    int number = 0;  // in the class
  };

  void add(const ChunkTree&, Piece);

  const Network& network_;
  const ClassOrbits& classes_;
  const ChunkPacking& packing_;
  std::vector<Piece> of_ = {};
  std::vector<LinkId> links_ = {};
  std::vector<int> piece_ = {}, height_ = {}, waits_ = {}, after_ = {}, first_after_ = {}, in_order_ = {};
  std::vector<char> sums_ = {};
  std::vector<double> load_ = {};
  std::vector<std::vector<int>> waiting_ = {};    // while it is built
  std::vector<std::vector<int>> sums_into_ = {};  // by rank, of the tree that is added
  std::vector<int> copy_into_ = {};
};

}  // namespace chorale
