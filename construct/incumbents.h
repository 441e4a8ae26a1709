// What is known of a collective on a machine before anything is searched.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bounds/lower_bounds.h"
#include "construct/engine/network.h"
#include "construct/engine/packing.h"
#include "construct/engine/timed_packing.h"
#include "construct/engine/work_budget.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/topology.h"

namespace chorale {

struct GeneratorLimits {
  int extra = kAnyRounds;
  const std::atomic<bool>* stop = nullptr;
  std::function<int()> bound = {};  // on rounds
  long long work = kTimedWork;      // of packing in steps
};
// What a generator of schedules is asked.
struct GeneratorQuestion {
  const Topology& topology;
  const Collective& collective;
  WorkBudget& effort;
  const std::vector<Schedule>& known;  // made by those before it
  const GeneratorLimits& limits;
};
// What one of trees is asked, which the engine puts into steps.
struct TreesQuestion {
  const Network& network;
  const std::vector<ChunkClass>& classes;
  int chunks = 1;  // per block
  long long rounds = 0;
  WorkBudget& effort;
};

enum class Needs { Anything, Copies, Sums };

// All that makes schedules, a row each: the functions below and the engine (construct/engine.h) call them.
// Where neither function is given, the engine has it as a member.
struct Generator {
  const char* name = "";   // stands in the points that it makes
  const char* makes = "";  // for people
  Needs needs = Needs::Anything;
  unsigned when = 0;  // it is called (construct/incumbents.cpp)
  std::vector<Schedule> (*make)(const GeneratorQuestion&) = nullptr;  // none where it does not suit
  std::optional<ChunkPacking> (*pack)(const TreesQuestion&) = nullptr;
};
std::span<const Generator> generators();
// Returns the row of the name, which must be there.
const Generator& generator_named(const std::string&);

// Does each chunk start at some rank?
bool starts_somewhere(const Collective&);

// Constructed schedules (no solver) of just this collective with just its chunks, by steps: Pareto-optimal in
// (steps, rounds). Each is verified, and names its method. There is at least one if every destination can be
// reached from its sources; there is none if one cannot, if the verifier would need more than a GiB for what
// the ranks hold, or if `stop` was set before the first was found. If nothing has to move, it has no steps.
// With `extra` >= 0 rounds exceed steps by at most `extra`: k-synchronous, for k = extra; existence is as
// above. Takes milliseconds for 16 ranks. Requires as many ranks as the collective has. What is named by
// `without`, a construction or "classic" for all baselines, makes none.
std::vector<Point> incumbents(const Machine&, const Collective&, const std::atomic<bool>* stop = nullptr,
                              int extra = kAnyRounds, const std::string& without = {});

// Only the point of the fewest steps, for a caller that is out of time and has none: in about a tenth of a
// second; empty if it would take longer.
std::vector<Point> quick_incumbents(const Topology&, const Collective&, int extra = kAnyRounds);

// Only what switches that multicast and reduce do (construct/in_network.h), for more chunks than all of the
// above is made for; none where they forward only.
std::vector<Point> switch_incumbents(const Topology&, const Collective&,
                                     const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds);

// Returns schedules of Allgather, ReduceScatter and Alltoall where symmetries carry each rank to each
// (graph/automorphisms.h): the sends of one representative are found, and carried to all ranks. In as few
// steps as hops allow, and on tori and hypercubes in as few rounds as the bound of one chunk; half a second
// for an Allgather of 1,024 ranks, five for one of 4,096, a second for an Alltoall of 512. An Alltoall on
// another machine that is a product of rows and columns is composed of theirs
// (construct/exact/product_alltoall.h). Otherwise as above.
std::vector<Point> regular_incumbents(const Topology&, const Collective&,
                                      const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds,
                                      const std::string& without = {});

// What is exact for some collectives, or good in few steps, beside the packings of the engine
// (construct/engine.h):
// - of Allgather, Broadcast and what else brings each chunk to all ranks, and of their duals: over shortest
//   paths at the rate of the tightest cut (construct/exact/tree_growth.h);
// - of all, where that leaves something to be found: trees and paths on the time-expanded machine
//   (construct/engine/timed_packing.h).
// None on machines on which it is not quick, or when stopped. The latter takes the work. Otherwise as above.
std::vector<Point> grown_incumbents(const Topology&, const Collective&,
                                    const std::atomic<bool>* stop = nullptr, int extra = kAnyRounds,
                                    const std::string& without = {}, long long work = kTimedWork);

}  // namespace chorale
