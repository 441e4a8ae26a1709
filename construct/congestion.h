// What steps carry, and what it costs to put more into them: negotiated congestion (PathFinder: McMurchie and Ebeling 1995,
// who route wires on chips so).
//
// Everybody may use everything, and what is used too much becomes dearer, from turn to turn: by what is over now, and by
// what was over before. Who has another way at little more takes it, and who has none stays.
#pragma once

#include <vector>

#include "construct/link_orbits.h"

namespace chorale {

class Congestion {
 public:
  // As many rounds as there are, spread evenly over the steps. Requires a round for each.
  Congestion(const LinkOrbits&, int steps, int rounds);
  // As many in each step; none in some, perhaps.
  Congestion(const LinkOrbits&, std::vector<int> rounds);

  // Of one more send over the link (with all that the group makes of it). Steps count from 0.
  double price(LinkId l, int step) const {
    double sum = 0;
    for (const LinkOrbits::Share& s : orbits_.shares(l)) {
      const Place& p = places_[at(step, s.bin)];
      sum += s.weight == 1 ? p.of_one : s.weight * price_of(p, s.weight);
    }
    return sum;
  }
  void add(LinkId l, int step, int sends) {
    for (const LinkOrbits::Share& s : orbits_.shares(l)) {
      Place& p = places_[at(step, s.bin)];
      p.load += sends * s.weight;
      p.of_one = price_of(p, 1);
    }
  }
  bool overfull(LinkId l, int step) const {
    for (const LinkOrbits::Share& s : orbits_.shares(l))
      if (const Place& p = places_[at(step, s.bin)]; p.load > p.room) return true;
    return false;
  }
  bool fits() const { return overflow() == 0; }
  long long overflow() const;  // what is over, all together

  // After a turn: what is overfull becomes dearer, for good and for now.
  void raise();
  // From the step that can best spare a round to the one that lacks most.
  void move_round();
  // A round less, of the step where least is over then.
  void narrow();

 private:
  struct Place {  // of a bin in a step
    long long load = 0;
    long long room = 0;
    double base = 1;    // price while there is room
    double of_one = 1;  // price of one more, which is asked for far more often than it changes
  };
  double price_of(const Place& p, int more) const {  // of each of them
    const auto over = static_cast<double>(p.load + more - p.room);
    return p.base * (over > 0 ? 1 + pressure_ * over : 1);
  }
  void renew_prices() {
    for (Place& p : places_) p.of_one = price_of(p, 1);
  }
  std::size_t at(int step, int bin) const {
    return static_cast<std::size_t>(step) * orbits_.capacities().size() + static_cast<std::size_t>(bin);
  }
  // Rounds that the step has too few; less than 0: that it can spare.
  long long lacking(int step) const;
  void lay_out();
  void widen(int step, int rounds);

  const LinkOrbits& orbits_;
  const int steps_;
  std::vector<Place> places_ = {};
  std::vector<int> rounds_ = {};  // by step
  double pressure_ = 0.5;
};

}  // namespace chorale
