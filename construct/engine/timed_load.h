// What the links and shared limits of a time-expanded machine carry, step by step, and the price of one more
// send.
#pragma once

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "construct/engine/network.h"
#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// A send over a link, in a step from 0.
struct TimedSend {
  int step = 0;
  LinkId link = 0;
  bool reduce = false;
};
using TimedSends = std::vector<TimedSend>;

// One of two prices, both greater than 0:
// - smooth: the rounds of a step are the load of its fullest link or limit, made smooth as the logarithm of
//   the sum over all of exp(sharpness * rounds that each needs, by those of the fullest); the price is what
//   one more send adds to it. How many rounds a step has follows from the load. A floor is a load that all
//   steps have anyhow, so that it costs little to fill an empty one up to it. (Fractional packing by
//   exponential prices: Plotkin, Shmoys and Tardos 1995.)
// - negotiated: each step has given rounds; the price rises with what is over, now and in all iterations
//   before. (PathFinder: McMurchie and Ebeling 1995, for wires on chips.)
class TimedLoad {
 public:
  // Carries nothing at first, at negotiated prices without rounds. The machine and its orbits must outlive
  // this.
  TimedLoad(const Topology&, const LinkOrbits&, int steps);

  // Each send with all that the group makes of it.
  void add(const TimedSends&, int by);
  double price(LinkId l, int step) const {
    double sum = 0;
    for (int i = first_[l]; i < first_[l + 1]; ++i) {
      const LinkOrbits::Share& share = shares_[i];
      const std::size_t slot = at(step, share.bin);
      sum += share.weight == 1 ? prices_[slot] : share.weight * price_of(slots_[slot], share);
    }
    return sum * factor_[step] + least_;
  }
  double price(const TimedSends&) const;
  const std::vector<double>& prices(int step) const;  // by link; valid until the load changes
  std::vector<int> rounds() const;                    // by step, that the load needs
  double fractional_rounds() const;                   // of all steps

  void price_smoothly(double sharpness, double floor);  // floor: rounds

  // The history of what was over is forgotten.
  void negotiate(std::vector<int> rounds);
  long long overflow() const;  // what is over, in all
  bool overloaded(const TimedSends&) const;
  // Is called after an iteration: overloaded resources become more expensive, by the permanent and the
  // present price.
  void raise();
  // From the step that can best spare a round to the one that lacks most.
  void move_round();
  // One round less, of the step where least is over then. False where no step has a round left.
  bool narrow();

 private:
  struct Slot {  // of a bin in a step
    long long load = 0;
    long long room = 0;
    double base = 1;    // negotiated price while there is room
    double weight = 0;  // smooth: exp(sharpness * (rounds / peak of the step - 1))
  };
  std::size_t at(int step, int bin) const { return static_cast<std::size_t>(step) * bins() + bin; }
  int bins() const { return static_cast<int>(orbits_.capacities().size()); }
  double rounds_of(int step, int bin) const {
    return static_cast<double>(slots_[at(step, bin)].load) / static_cast<double>(orbits_.capacities()[bin]);
  }
  double price_of(const Slot& slot, const LinkOrbits::Share& share) const {  // of each send of an orbit
    if (sharpness_ > 0) return slot.weight / static_cast<double>(orbits_.capacities()[share.bin]);
    const auto over = static_cast<double>(slot.load + share.weight - slot.room);
    return slot.base * (over > 0 ? 1 + pressure_ * over : 1);
  }
  void reprice(int step, int bin) {
    prices_[at(step, bin)] = price_of(slots_[at(step, bin)], {.bin = bin});
    stale_[step] = true;
  }
  double fullest(int step) const;  // rounds
  double weight(int step, int bin) const;
  void weigh(int step, int bin);
  void weigh(int step);
  // Returns the rounds that the step lacks; less than 0: that it can spare.
  long long lacking(int step) const;
  void widen(int step, int rounds);

  const LinkOrbits& orbits_;
  const int steps_;
  std::vector<Slot> slots_ = {};                // by step and bin
  std::vector<double> prices_ = {};             // the same: of one more send, times the factor of the step
  std::vector<LinkOrbits::Share> shares_ = {};  // by link
  std::vector<int> first_ = {};                 // by link
  std::vector<double> factor_ = {};             // by step: smooth, 1 / sum of weights
  double least_ = 0;                            // smooth: added to each price
  double sharpness_ = 0;                        // 0: negotiated
  double floor_ = 0;                            // smooth
  std::vector<double> scale_ = {}, sum_ = {};   // smooth, by step: rounds of weight 1, sum of weights
  std::vector<char> rescaled_ = {};             // by step: the fullest may be another
  mutable std::vector<char> stale_ = {};        // by step: priced_ is of another load
  mutable std::vector<std::vector<double>> priced_ = {};
  std::vector<int> rounds_ = {};  // negotiated, by step
  double pressure_ = 0;
};

// One tree on the time-expanded machine: what goes from some ranks to others, each link in a step.
//
// Each target takes its cheapest path, the most expensive first, from where that meets the tree. Then the
// tree is improved: a rank is hung below the one that is cheapest for it, or is made a relay, there earlier
// for more, from which others hang. A single target has its cheapest path. Backwards: time and links are
// reversed.
//
// Invariant: a rank is reached once, or a contribution would be counted twice.
//
// What lost: a tree that grows by the cheapest path from anywhere in it (Takahashi and Matsuyama 1980), 5 %
// more expensive once improved where relays were made in the order of their numbers.
class TimedTree {
 public:
  static constexpr double kInfinitePrice = std::numeric_limits<double>::infinity();

  explicit TimedTree(const Topology& topology)
      : ranks_(topology.ranks), forwards_(topology, false), backwards_(topology, true) {}

  struct Question {
    const RankSet* roots = nullptr;
    const RankSet* targets = nullptr;
    int start = 0;  // the first layer is this step, or, backwards, the one before it
    int layers = 0;
    bool backwards = false;
    const std::vector<int>* hops =
        nullptr;  // of a single target, if known: from each rank to it, or, backwards, from it; < 0: none
  };
  // Appends the sends of the tree. Their price; nothing where some target is out of reach.
  std::optional<double> grow(const Question&, const TimedLoad&, TimedSends&);

  // Edge relaxations of all trees so far.
  long long work() const { return work_; }

 private:
  struct Arc {
    LinkId link = 0;
    Rank to = 0;
  };
  // Links by the rank that they leave.
  struct Arcs {
    Arcs(const Topology&, bool reversed);
    std::vector<Arc> all = {};
    std::vector<int> first = {};
    std::vector<Rank> from = {};  // [link]
  };
  struct Entry {
    LinkId link = -1;
    int layer = 0;
  };
  struct Arrival {
    LinkId link = -1;  // none: it was there before
    Rank from = -1;
  };
  struct Offer {
    double cost = 0;
    int layer = 0;
    Rank rank = 0;
    bool operator<(const Offer&) const;  // the most expensive first, in the order of a heap
  };

  std::size_t at(Rank n, int layer) const { return static_cast<std::size_t>(n) * (layers_ + 1) + layer; }
  int step(int layer) const { return asked_->backwards ? asked_->start - 1 - layer : asked_->start + layer; }
  bool find_tree();
  bool find_path(Rank target);
  void lower(Rank, int layer, double cost);
  void spread(Rank, int layer);
  void prune();
  void improve();
  bool move_parent(Rank);
  double find_relay(Rank);
  void make_relay(Rank);
  void find_latest();
  bool is_inner(Rank n) const { return entries_[n].link >= 0; }
  int there(Rank n) const { return is_inner(n) ? entries_[n].layer + 1 : 0; }
  double price(LinkId l, int layer) const { return priced_[layer][l]; }
  double price(const Entry& entry) const { return price(entry.link, entry.layer); }
  void find_cheapest_into(Rank);

  int ranks_;
  Arcs forwards_, backwards_;
  const Arcs* arcs_ = nullptr;
  const TimedLoad* load_ = nullptr;
  const Question* asked_ = nullptr;
  int layers_ = 0;
  long long work_ = 0;
  std::vector<double> cost_ = {};  // by rank and layer; never rises from layer to layer
  std::vector<Arrival> by_ = {};
  std::vector<char> wanted_ = {};
  std::vector<Entry> entries_ = {};  // by rank; no link where it is not reached, and of roots
  std::vector<int> below_ = {};
  std::vector<Offer> offers_ = {};  // a heap
  // Of trees.
  std::vector<Rank> order_ = {};
  std::vector<const double*> priced_ = {};  // by layer and link
  std::vector<char> in_tree_ = {};
  std::vector<int> latest_ = {};  // by rank: what is below it needs the chunk by then
  std::vector<Entry> into_ = {};  // by layer: the cheapest send to a rank in it or before
  Entry relay_ = {};
  std::vector<std::pair<double, Rank>> gains_ = {};
  std::vector<Entry> moved_ = {}, moving_ = {};  // by arc of a relay: the cheapest send from some layer on
};

}  // namespace chorale
