// What a collective promises, defined once: which inputs hold the same data at the start, and which inputs an
// output is the sum of at the end. Verifiers, differences, test data and the checkers of emitted programs all
// read it here. It is a noun, and not part of the verifier, since the executors of programs may include ir/
// only.
//
// An output is the sum of the chunks that have their position there: several only where copies are added up
// locally, for which a chunk that is their sum stands. A chunk of a collective that combines is the sum of
// its contributions, one from each rank of pre(c); else it is the one original, which every rank of pre(c)
// promises to hold.
//
// Takes a number for each chunk that a rank needs and each input slot; sums are made when they are asked for.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/collective.h"

namespace chorale {

// A symbolic sum is what a slot holds, as a formal sum of inputs: how often each place is in it. Places are
// input slots of ranks, numbered through; sorted by place.
using SymbolicSum = std::vector<std::pair<int, int>>;

// Counts stay where they get to this: a program can double them with every instruction.
inline constexpr int kMostTimes = 1'000'000;

inline SymbolicSum added(const SymbolicSum& a, const SymbolicSum& b) {
  SymbolicSum result;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      result.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      result.push_back(*j++);
    } else {
      result.push_back({i->first, std::min(i->second + j->second, kMostTimes)});
      ++i, ++j;
    }
  }
  return result;
}

// Terms in any order, made a sum.
inline SymbolicSum collected(SymbolicSum terms) {
  std::sort(terms.begin(), terms.end());
  SymbolicSum result;
  for (const auto& [place, times] : terms)
    if (!result.empty() && result.back().first == place)
      result.back().second = std::min(result.back().second + times, kMostTimes);
    else
      result.push_back({place, times});
  return result;
}

class Promise {
 public:
  struct Input {
    Rank rank = 0;
    int slot = 0;
    auto operator<=>(const Input&) const = default;
  };
  // Slot `slot` of a rank's output is the sum of these chunks.
  struct Output {
    int slot = 0;
    std::span<const Chunk> chunks = {};
  };

  explicit Promise(const Collective&);  // which must outlive it
  explicit Promise(Collective&&) = delete;

  int ranks() const { return static_cast<int>(first_.size()) - 1; }

  // Input slots that are promised to hold the same data are one place, 0 to places() - 1, named after the
  // first.
  int places() const { return first_.back(); }
  int place(Rank, int input) const;
  Input input_at(int place) const;
  int inputs(Rank n) const { return first_[n + 1] - first_[n]; }  // slots

  // Returns all outputs of a rank that something is promised for, by slot.
  std::vector<Output> outputs(Rank) const;
  std::span<const Chunk> chunks(Rank, int slot) const;  // none: nothing is promised there
  // Returns what chunks are the sum of, each input as often as it is added; of copies that several ranks hold
  // the first's.
  std::vector<Input> terms(std::span<const Chunk>) const;

  // Returns the same in places. None: nothing is promised there.
  std::optional<SymbolicSum> wanted(Rank, int slot) const;
  // Says in what a sum is not the one that was wanted, in words: "lacks input[2] of rank 1".
  std::string difference(const SymbolicSum& wanted, const SymbolicSum& held) const;

 private:
  void find_places();
  void find_outputs();
  int slot(Chunk c) const { return collective_.chunks[c].output; }
  std::span<const Chunk> wants(Rank) const;
  std::string name(int place) const;

  const Collective& collective_;
  std::vector<int> first_ = {};                          // by rank, and one more: its first input slot
  std::vector<int> place_ = {};                          // by input slot; empty: each is its own
  std::vector<std::size_t> begin_ = {};                  // by rank, and one more: where it begins in
  std::vector<Chunk> chunks_ = {};                       // what it needs, by output slot
  const std::vector<std::vector<Chunk>> operands_ = {};  // by chunk, of what is a sum of others
};

}  // namespace chorale
