// Options of placement.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "ir/option.h"
#include "ir/ranking.h"

namespace chorale {

// Of NCCL's, inside each group of devices. Auto: for each instruction the faster one.
enum class Algorithm { Ring, Tree, Auto };

enum class Rules {
  // without detours: no state between that one instruction could have reached from an earlier one than the
  // last
  Paper,
  Full,  // Figure 8 and nothing else
};

std::span<const Named<Algorithm>> algorithms();
std::span<const Named<Rules>> strategy_rules();

inline constexpr int kMostReducedLevels = 4;  // a reduction is split over, of those that are priced

struct PlaceOptions {
  Algorithm algorithm = Algorithm::Auto;               // what instructions are priced by
  Rules rules = Rules::Full;                           // which strategies count
  SynthesisKind synthesis = SynthesisKind::Collapsed;  // over which hierarchy they are written
  int top = 10;                                        // matrices to return
  int strategies = 1;                                  // for each reduction of each
  Conditions conditions = {};                          // that matrices must obey
  // Of axes inside of a level only that in which they are given, the first slowest; else all where that
  // matters.
  bool given_order = false;
  std::optional<ParallelismMatrix> present = {};        // priced beside the best
  NamedStrategy own = {};                               // verified and priced beside the best; none: nothing
  bool matrices_by_sat = false;                         // list them by the SAT encoding: the same, slower
  std::function<bool(int done, int of)> progress = {};  // false: stop; what was seen so far is ranked
  // Called with the ranking whenever it has one more matrix: what can be kept if the search is cut off.
  std::function<void(const Ranking&)> ranked = {};
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<PlaceOptions>> place_rows();

}  // namespace chorale
