// Whole chunks on trees, such that no link or shared limit is overloaded: a schedule without its steps.
#pragma once

#include <random>
#include <vector>

#include "construct/engine/cheapest_tree.h"
#include "construct/engine/network.h"
#include "construct/engine/work_budget.h"
#include "ir/collective.h"

namespace chorale {

// Which share of its chunks each class should send along which tree, so that the fullest link or shared limit
// is as little full as possible: the linear relaxation of a schedule without steps. Its optimum is the rate
// that schedules of many chunks come near to.

// Frank and Wolfe's method, one block at a time, on a soft maximum of the loads. A class is cut into blocks
// (a class alone into 64), each with trees of its own, so that what early prices chose is forgotten block by
// block: as one block a Broadcast stays 20 to 34 % above the optimum.
class FractionalPacking {
 public:
  struct Share {
    double chunks = 0;
    ChunkTree tree = {};
  };

  // `classes` of one chunk per block, each cut into `blocks`; copies (sum false), or sums with several
  // destinations. They must outlive this.
  FractionalPacking(const Network&, const std::vector<ChunkClass>& classes, bool sum, int blocks);

  // Of each of the classes, where there is time for them.
  static int blocks_of_class(const std::vector<ChunkClass>&);

  // Sweeps over all blocks until the fullest is within `near` of `target` (rounds), no more is gained, or the
  // effort ends; begins with the trees that there are. `hop`: the price of a hop of depth, in mean prices of
  // a link. Returns false where a target cannot be reached or the first sweep could not be ended.
  bool improve(double target, double near, double hop, WorkBudget&);

  double rounds() const { return fullest(); }  // per chunk of a block, in a whole sweep's trees
  // Returns, by class, what a class has sums up to its chunks.
  std::vector<std::vector<Share>> shares() const;
  // Prices of bins, such that capacities times prices are 1 together: as the loads are now.
  std::vector<double> bin_prices() const;

 private:
  struct Block {
    int of = 0;  // class
    double chunks = 0;
    std::vector<Share> shares = {};  // fractions of the block, together 1
  };

  double fullest() const;
  void set_prices(std::vector<double>& bins) const;
  void reprice(double& mean);
  bool sweep(double hop, WorkBudget&);
  void move(Block&, const ChunkTree&);
  double cost(const ChunkTree&) const;
  double best_step();
  void add(const ChunkTree&, double chunks);

  const Network& network_;
  const std::vector<ChunkClass>& classes_;
  const bool sum_;
  CheapestTree trees_;
  std::vector<Block> blocks_ = {};
  std::vector<int> order_ =
      {};  // first blocks of runs whose classes begin at the same ranks and have one target each
  std::vector<double> load_ = {};
  std::vector<double> bin_prices_ = {}, prices_ = {};
  std::vector<double> delta_ = {};  // what a step of 1 would add to the loads
  std::vector<int> changed_ = {};   // bins where delta_ was touched
  double sharpness_ = 8;
  std::mt19937 random_{1};
};

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
  // as near to them as is found. `hop` as in FractionalPacking. Without effort left, as they were drawn.
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

}  // namespace chorale
