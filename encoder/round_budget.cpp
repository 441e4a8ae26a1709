// The idea: rounds are asked for by what is sent. A step has as many as its fullest link forces it to have,
// the sum of all steps is forced by theirs, and the budget forbids the sum: one direction of each equivalence
// is enough.
//
// Invariant: literals of a unary number fall (round(s,j) -> round(s,j-1)), so that one assumption, "not more
// than R", forbids all that are larger.
#include "encoder/round_budget.h"

#include <cassert>

namespace chorale {

// An upper bound on a step's rounds needs no lower one: sends force round(s,j), and those force the sum.
RoundBudget::RoundBudget(Formula& f, const Budget& horizon)
    : horizon_(horizon), round_(horizon.steps + 1), within_(horizon.steps + 1) {
  for (Lit& lit : within_) lit = f.fresh();
  for (int s = 1; s <= horizon.steps; ++s) {
    for (int j = 1; j <= horizon.rounds; ++j) {
      round_[s].push_back(f.fresh());
      if (j > 1) f.add({-round_[s][j - 1], round_[s][j - 2]});
    }
    total_ = s == 1 ? round_[s] : add_unary(f, total_, round_[s], horizon.rounds + 1);
    // Done after t steps: no step after it has a round, so none has a send.
    for (int t = 0; t < s; ++t) f.add({-within_[t], -round_[s][0]});
  }
  for (std::size_t j = 1; j < total_.size(); ++j) f.add({-total_[j], total_[j - 1]});
  if (static_cast<int>(total_.size()) > horizon.rounds) f.add({-total_[horizon.rounds]});
}

void RoundBudget::bandwidth(Formula& f, int s, std::span<const Lit> sends, int chunks_per_round,
                            Counter counter) {
  for (Lit lit : sends) f.add({-lit, round_[s][0]});
  // One round is enough for all of them: nothing to count. Beyond, only every chunks_per_round-th output asks
  // for a round more.
  if (static_cast<int>(sends.size()) <= chunks_per_round) return;
  const int most = chunks_per_round * horizon_.rounds;
  const std::vector<Lit> number = count(f, sends, most + 1, counter);
  for (std::size_t k = 1; k < number.size(); ++k) f.add({-number[k], number[k - 1]});
  for (int k = chunks_per_round + 1; k <= static_cast<int>(number.size()); k += chunks_per_round) {
    const int needed = (k + chunks_per_round - 1) / chunks_per_round;
    if (needed <= horizon_.rounds)
      f.add({-number[k - 1], round_[s][needed - 1]});
    else
      f.add({-number[k - 1]});
  }
}

std::vector<Lit> RoundBudget::assume(const Budget& budget) const {
  assert(budget.steps <= horizon_.steps && budget.rounds <= horizon_.rounds);
  std::vector<Lit> assumptions = {within_[budget.steps]};
  if (budget.rounds < static_cast<int>(total_.size())) assumptions.push_back(-total_[budget.rounds]);
  return assumptions;
}

}  // namespace chorale
