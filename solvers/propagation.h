// What follows from assumptions by unit propagation alone: by how much a decision makes a formula smaller.
// For choosing what to decide; nothing is concluded from it.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/formula.h"

namespace chorale {

class Propagation {
 public:
  explicit Propagation(const Formula&);

  bool refuted() const { return refuted_; }  // without any assumption
  // 1 true, -1 false, 0 neither.
  int value(Lit) const;
  // How many literals are true; those before stay where more is assumed.
  std::size_t known() const { return trail_.size(); }
  // False: the literals assumed so far cannot all be true, as far as unit propagation shows. The assumptions
  // are then to be retracted.
  bool assume(Lit);
  void back_to(std::size_t known);

 private:
  struct Clause {
    std::size_t start = 0;
    int size = 0;
  };
  static std::size_t index(Lit lit) { return 2 * static_cast<std::size_t>(lit < 0 ? -lit : lit) + (lit < 0); }
  void set(Lit);
  bool propagate();
  bool moved(Clause, std::size_t clause);

  std::vector<signed char> values_ = {};                // by literal
  std::vector<std::vector<std::size_t>> watches_ = {};  // by literal: clauses that watch it
  std::vector<Clause> clauses_ = {};
  std::vector<Lit> literals_ = {};  // of all clauses; the first two of each are watched
  std::vector<Lit> trail_ = {};
  std::size_t propagated_ = 0;
  bool refuted_ = false;
};

}  // namespace chorale
