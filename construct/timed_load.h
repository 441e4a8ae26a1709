// What the links and shared limits of a time-expanded machine carry, step by step, and the price of one more
// send.
#pragma once

#include <vector>

#include "construct/link_orbits.h"
#include "ir/topology.h"

namespace chorale {

// Over a link, in a step from 0.
struct TimedSend {
  int step = 0;
  LinkId link = 0;
  bool reduce = false;
};
using TimedSends = std::vector<TimedSend>;

// One of two prices, both greater than 0:
// - smooth: the rounds of a step are the load of its fullest link or limit, made smooth as the logarithm of
//   the sum over all of exp(sharpness * rounds that each needs), by sharpness; the price is the share of that
//   sum that one more send adds to it, by sharpness. This is a difference, not the derivative: on a bin of
//   capacity 1 a send is no small change. How many rounds a step has follows from the load. (Fractional
//   packing by exponential prices: Plotkin, Shmoys and Tardos 1995.)
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
    return sum * factor_[step] + floor_;
  }
  double price(const TimedSends&) const;
  std::vector<int> rounds() const;  // by step, that the load needs

  void price_smoothly(double sharpness);

  // The history of what was over is forgotten.
  void negotiate(std::vector<int> rounds);
  long long overflow() const;  // what is over, in all
  bool overloaded(const TimedSends&) const;
  // After an iteration: overloaded resources become more expensive, by the permanent and the present price.
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
    double weight = 0;  // smooth: exp(sharpness * (rounds - peak of the step))
  };
  std::size_t at(int step, int bin) const { return static_cast<std::size_t>(step) * bins() + bin; }
  int bins() const { return static_cast<int>(orbits_.capacities().size()); }
  double rounds_of(int step, int bin) const {
    return static_cast<double>(slots_[at(step, bin)].load) / static_cast<double>(orbits_.capacities()[bin]);
  }
  double price_of(const Slot& slot, const LinkOrbits::Share& share) const {  // of each send of an orbit
    if (sharpness_ > 0) return slope_[share.bin] * slot.weight;
    const auto over = static_cast<double>(slot.load + share.weight - slot.room);
    return slot.base * (over > 0 ? 1 + pressure_ * over : 1);
  }
  void reprice(int step, int bin) { prices_[at(step, bin)] = price_of(slots_[at(step, bin)], {.bin = bin}); }
  void weigh(int step, int bin, int more);
  void weigh(int step);
  // Rounds that the step lacks; less than 0: that it can spare.
  long long lacking(int step) const;
  void widen(int step, int rounds);

  const LinkOrbits& orbits_;
  const int steps_;
  std::vector<Slot> slots_ = {};                // by step and bin
  std::vector<double> prices_ = {};             // the same: of one more send, times the factor of the step
  std::vector<LinkOrbits::Share> shares_ = {};  // by link
  std::vector<int> first_ = {};                 // by link
  std::vector<double> factor_ = {};             // by step: smooth, 1 / sum of weights
  double floor_ = 0;                            // what is free is not wasted, and a tree ends (timed_tree.h)
  double sharpness_ = 0;                        // 0: negotiated
  std::vector<double> growth_ = {},
                      slope_ = {};            // smooth, by bin: of the weight and the price by one more send
  std::vector<double> peak_ = {}, sum_ = {};  // smooth, by step: rounds of the fullest, sum of weights
  std::vector<int> rounds_ = {};              // negotiated, by step
  double pressure_ = 0;
};

}  // namespace chorale
