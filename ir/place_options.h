// Options of placement.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "ir/option.h"
#include "ir/ranking.h"
#include "ir/search_options.h"

namespace chorale {

// Of NCCL's, inside each group of devices. Auto: for each instruction the faster one.
enum class Algorithm { Ring, Tree, Auto };

enum class Rules {
  // without detours: no state between that one instruction could have reached from an earlier one than the
  // last
  Paper,
  Full,  // Figure 8 and nothing else
};

// What lists the matrices, and the strategies of an AllReduce: the same sets.
enum class PlaceEngine {
  // The strategies of any length are paths over states, of which the cheapest is the shortest path.
  Enumerate,
  // A formula in CaDiCaL, or bit vectors in Z3 (a plugin), asked length by length for strategies of at most
  // kMostCounted instructions, which are then priced.
  Sat,
  Smt,
};

std::span<const Named<PlaceEngine>> place_engines();
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
  std::optional<ParallelismMatrix> present = {};  // priced beside the best
  NamedStrategy own = {};                         // verified and priced beside the best; none: nothing
  PlaceEngine engine = PlaceEngine::Enumerate;
  Solver solver = Solver::Cadical;  // of the formulas of PlaceEngine::Sat
  std::string ipasir = {};          // the shared library of Solver::Ipasir
  int most_instructions =
      std::numeric_limits<int>::max();  // of a strategy; a solver lists kMostCounted at most
  SolveLimits limits = {};              // of each question to a solver; what was found until then is ranked
  std::function<bool(int done, int of)> progress = {};  // false: stop; what was seen so far is ranked
  // Called with the ranking whenever it has one more matrix: what can be kept if the search is cut off.
  std::function<void(const Ranking&)> ranked = {};
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<PlaceOptions>> place_rows();

}  // namespace chorale
