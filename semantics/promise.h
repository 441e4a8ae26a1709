// What a collective promises, in symbolic sums of its inputs: shared by the referees of programs, whatever
// their instructions are. Taken from ir/collective.h alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "semantics/symbolic_sum.h"

namespace chorale {

class Promise {
 public:
  explicit Promise(const Collective&);

  // What stands for an input slot in sums: 0 to places() - 1. In a collective that copies, all ranks of pre(c)
  // promise to hold the same data: their slots are one place.
  int place(Rank, int input) const;
  int places() const { return first_.back(); }

  // What an output slot is to hold at the end; null: nothing is promised there.
  const SymbolicSum* output(Rank, int slot) const;

  // In what a sum is not the one that was wanted, in words: "lacks input[2] of rank 1".
  std::string difference(const SymbolicSum& wanted, const SymbolicSum& held) const;

 private:
  std::string name(int place) const;

  std::vector<int> first_ = {};                           // by rank, and one more: its first input slot
  std::vector<int> place_ = {};                           // by input slot
  std::vector<std::map<int, SymbolicSum>> outputs_ = {};  // by rank and slot
};

}  // namespace chorale
