// The proof of a refutation in LRAT text (Cruz-Filipe, Heule, Hunt, Kaufmann and Schneider-Kamp, CADE 2017):
// each lemma names the clauses that it follows from, in the order in which they become unit, so that a
// checker searches for nothing. Verified checkers read it (ACL2's, cake_lpr). A line is
//
//   <id> <literals> 0 <ids of antecedents> 0      a lemma, which follows by unit propagation (RUP)
//   <id> d <ids> 0                                clauses that are not used any more
//
// The clauses of the formula have the ids 1, 2, ... in the order of its DIMACS text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/formula.h"

namespace chorale {

class LratRecord {
 public:
  using Id = int;

  // Of a formula with that many clauses.
  explicit LratRecord(std::int64_t clauses) : clauses_(static_cast<Id>(clauses)) {}

  // A lemma and the ids that it follows from. Nothing is recorded after the empty clause.
  Id add(std::span<const Lit> lemma, std::span<const Id> antecedents);
  // Of what the empty clause needs, and nothing else; "" if it was not recorded.
  std::string text() const;

 private:
  struct Lemma {
    std::size_t literals = 0, antecedents = 0;  // where they begin
  };
  std::span<const Lit> literals(std::size_t lemma) const;
  std::span<const Id> antecedents(std::size_t lemma) const;
  std::vector<std::size_t> last_uses() const;

  const Id clauses_;
  std::vector<Lemma> lemmas_ = {};
  std::vector<Lit> literals_ = {};
  std::vector<Id> antecedents_ = {};
  bool refuted_ = false;
};

}  // namespace chorale
