// Rounds of steps and their sum in CNF: the part that all encodings over a budget share. The header of
// StepRoundEncoding specifies (bandwidth) and (rounds).
#pragma once

#include <span>
#include <vector>

#include "encoder/counter.h"
#include "ir/formula.h"
#include "ir/instance.h"

namespace chorale {

class RoundBudget {
 public:
  RoundBudget(Formula&, const Budget& horizon);  // (rounds)

  Lit within(int t) const { return within_[t]; }
  // (bandwidth): in step s at most chunks_per_round * rounds of the step of these sends.
  void bandwidth(Formula&, int s, std::span<const Lit> sends, int chunks_per_round, Counter);
  // Assumptions for "at most this budget", which must lie within the horizon.
  std::vector<Lit> assume(const Budget&) const;

 private:
  Budget horizon_;
  std::vector<std::vector<Lit>> round_ = {};  // [s][j-1]: step s has at least j rounds
  std::vector<Lit> within_ = {};              // [t]: done after t steps
  std::vector<Lit> total_ = {};               // [j-1]: at least j rounds in all
};

}  // namespace chorale
