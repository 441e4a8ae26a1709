// Whole chunks on trees, such that no link or shared limit is overloaded: a schedule without its steps.
#pragma once

#include <random>
#include <vector>

#include "construct/cheapest_tree.h"
#include "construct/fractional_packing.h"
#include "construct/network.h"
#include "construct/work_budget.h"
#include "ir/collective.h"

namespace chorale {

// By class and number within the class: the tree of each chunk, of `chunks` per block.
struct ChunkPacking {
  int chunks = 1;
  std::vector<std::vector<ChunkTree>> trees = {};  // [class][chunk]
};

// That the fullest link or shared limit needs.
long long needed_rounds(const Network&, const ChunkPacking&);

// Rounds a fractional packing to integral chunks and repairs what does not fit: chunks over an overloaded bin
// are grown again, at prices that rise with what the bin has been over before (negotiated congestion;
// PathFinder, McMurchie and Ebeling 1995).
class Rounding {
 public:
  // `classes` of one chunk per block, as in FractionalPacking; they must outlive this.
  Rounding(const Network&, const std::vector<ChunkClass>& classes, bool sum);

  // Trees drawn from the shares, evenly along them, for `chunks` per block; negotiated for `least` rounds, or
  // as near to them as is found; then deep trees are made shallower where the rounds allow it. `hop` as in
  // FractionalPacking. Without effort left, as they were drawn.
  ChunkPacking round(const std::vector<std::vector<FractionalPacking::Share>>&, int chunks, long long least,
                     double hop, WorkBudget&);

 private:
  struct Piece {
    int of = 0;  // class
    ChunkTree tree = {};
  };

  void draw(const std::vector<std::vector<FractionalPacking::Share>>&, int chunks);
  long long rounds() const;
  bool negotiate(long long rounds, double hop, WorkBudget&);
  void shorten(long long rounds, WorkBudget&);
  void load(const ChunkTree&, int by);
  bool grow(Piece&, double hop, ChunkTree&, WorkBudget&);
  void price(long long rounds, double pressure);
  bool meets(const ChunkTree&, const std::vector<char>& bins) const;

  const Network& network_;
  const std::vector<ChunkClass>& classes_;
  const bool sum_;
  CheapestTree trees_;
  std::vector<Piece> pieces_ = {};
  std::vector<long long> load_ = {};  // by bin
  std::vector<double> history_ = {};  // by bin
  std::vector<double> bin_prices_ = {}, prices_ = {};
  std::mt19937 random_{1};
};

// Hops from the first send of a chunk to its last.
int depth(const Network&, const ChunkTree&);

}  // namespace chorale
