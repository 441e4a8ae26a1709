// Two watched literals (Moskewicz et al. 2001): a clause is examined only when one of the two that it watches
// becomes false, and retracting needs no repair. The checker of proofs has its own (proof.cpp), since it is
// trusted and this is not.
#include "solvers/propagation.h"

#include <algorithm>
#include <utility>

namespace chorale {

Propagation::Propagation(const Formula& formula)
    : values_(2 * static_cast<std::size_t>(formula.variables) + 2, 0), watches_(values_.size()) {
  std::vector<Lit> clause, units;
  for (const Lit lit : formula.literals) {
    if (lit != 0) {
      clause.push_back(lit);
      continue;
    }
    std::ranges::sort(clause);
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    if (clause.empty()) refuted_ = true;
    if (clause.size() == 1) units.push_back(clause.front());
    if (clause.size() > 1) {
      for (const Lit watched : {clause[0], clause[1]}) watches_[index(watched)].push_back(clauses_.size());
      clauses_.push_back({.start = literals_.size(), .size = static_cast<int>(clause.size())});
      literals_.insert(literals_.end(), clause.begin(), clause.end());
    }
    clause.clear();
  }
  // After all clauses are watched: what follows from a unit is found at once.
  for (const Lit unit : units) refuted_ = refuted_ || !assume(unit);
}

int Propagation::value(Lit lit) const {
  return values_[index(lit)];
}

bool Propagation::assume(Lit lit) {
  if (value(lit) != 0) return value(lit) > 0;
  set(lit);
  return propagate();
}

// Watches stay as they are: retracting makes no literal false.
void Propagation::back_to(std::size_t known) {
  while (trail_.size() > known) {
    values_[index(trail_.back())] = values_[index(-trail_.back())] = 0;
    trail_.pop_back();
  }
  propagated_ = std::min(propagated_, known);
}

void Propagation::set(Lit lit) {
  values_[index(lit)] = 1;
  values_[index(-lit)] = -1;
  trail_.push_back(lit);
}

// The list of a literal is compacted while it is read, since moved() takes clauses out of it. Invariant: a
// clause whose watched literal is false has another watched one that is true, or is yet to be examined.
bool Propagation::propagate() {
  while (propagated_ < trail_.size()) {
    const Lit now_false = -trail_[propagated_++];
    std::vector<std::size_t>& watching = watches_[index(now_false)];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < watching.size(); ++i) {
      const std::size_t number = watching[i];
      const Clause clause = clauses_[number];
      Lit* const literals = literals_.data() + clause.start;
      if (literals[0] == now_false) std::swap(literals[0], literals[1]);
      if (value(literals[0]) <= 0 && moved(clause, number)) continue;
      watching[kept++] = number;
      if (value(literals[0]) < 0) {  // a conflict: the rest of the list stays
        while (++i < watching.size()) watching[kept++] = watching[i];
        watching.resize(kept);
        return false;
      }
      if (value(literals[0]) == 0) set(literals[0]);
    }
    watching.resize(kept);
  }
  return true;
}

// The second watch to a literal that is not false, if there is one.
bool Propagation::moved(Clause clause, std::size_t number) {
  Lit* const literals = literals_.data() + clause.start;
  for (int k = 2; k < clause.size; ++k)
    if (value(literals[k]) >= 0) {
      std::swap(literals[1], literals[k]);
      watches_[index(literals[1])].push_back(number);
      return true;
    }
  return false;
}

}  // namespace chorale
