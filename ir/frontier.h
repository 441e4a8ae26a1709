// What synthesis returns: points (schedules with their cost) and claims (lower bounds with their
// certificates). The claims show that the points are optimal. All of it can be checked without trust in its
// producer.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/named.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

struct Cost {
  int steps = 0;
  int rounds = 0;
  int chunks = 1;  // of a block; what counts is rounds / chunks, compared exactly
  bool operator==(const Cost&) const = default;
};

// -1, 0, 1 as a.rounds/a.chunks is less than, equal to or greater than b's.
int compare_rate(const Cost& a, const Cost& b);
// No worse in steps and in rounds per chunk, and better in one.
bool dominates(const Cost& a, const Cost& b);

// Prices of one step, by link and by shared limit; nonnegative integers.
struct Prices {
  std::vector<int> links = {};   // one per link
  std::vector<int> limits = {};  // one a shared limit
  bool operator==(const Prices&) const = default;
};

// A cut in time: what enters it pays.
struct TimedCut {
  int price = 0;
  std::vector<int> until = {};  // by rank
  bool operator==(const TimedCut&) const = default;
};

// Why a Claim holds. Which fields count depends on the kind; docs/bounds.md proves each.
//
//   None        Nothing was shown.
//   Distance    `chunk` cannot reach `rank` from any rank that has it within the claimed steps: too many
//               hops. (Combining: a contribution to `chunk` at `rank` cannot reach all its destinations.)
//   Weights     `prices`: moving a chunk over link l in step s costs w = price of l + prices of the limits
//               with l. Every chunk pays at least the cheapest path (one link per step, or waiting for free)
//               to its most expensive destination; a round of step s can be paid at most sum(bandwidth *
//               price) of step s. Prices for each step of the claim, or one entry that holds for every step
//               and any number of steps. Cuts and duals of flow problems are of this kind (reference:
//               ForestColl; maximum concurrent flow).
//   Partition   `group` of each rank. A chunk crosses between groups at least p + q - 2 times, and once more
//               if no group is among both, for p groups that contribute to a sum and q that want it
//               (AllReduce, k groups: 2(k-1)); a copy enters each group that lacks it. `prices` (one entry)
//               give every crossing link a w >= m >= 1, so m * crossings <= rounds * sum(bandwidth * price).
//   Trees       `prices` (one entry), w as of Weights. A chunk that all ranks have or want crosses at least
//               the links of a tree from its holder to all ranks, so it pays the cheapest spanning
//               arborescence; any other chunk pays as of Weights. (Sums: the cheapest into the most expensive
//               destination.) Limits that count several sends once have no price. Duals of tree packings are
//               of this kind (reference: Edmonds 1973; construct/).
//   Cuts        `cuts`, each a set of ranks in time: rank n is inside from time 0 to `until` of n (time t:
//               after t steps; -1: never), so what waits never enters. A send over l in step s enters where
//               its destination is inside at time s and its source is not at time s-1. `prices`, an entry for
//               each step of the claim, give it a w (as in Weights) that is at least the sum of the prices of
//               all cuts that it enters. A chunk pays the price of each cut that its sources are all outside
//               of at time 0 and one of its destinations is inside of after the last step (combining: one
//               contributor is outside). With `group`, crossings are paid, too, each by the least that any
//               link between groups has left in any step. Without abilities.
//   Growth      The chunks that are equal to `chunk` (same pre and post; at most six are examined) cannot
//               spread faster. Their first holders together send at most k chunks per round, any other rank
//               at most K, and receives at most J (each rate: its links, or a shared limit over some of
//               them). Let n_c ranks beyond the first holders hold chunk c, let there be M such ranks, and
//               let a step of r rounds give chunk c to x_c more. Then sum_c max(0, x_c - r K n_c) <= r k,
//               since only first holders and the n_c send c; and sum_c x_c <= r min(k + K min(M, sum_c n_c),
//               J M). From n = 0, no choice of x and of steps of r rounds (one round less than claimed,
//               together) brings every n_c to the number that the postcondition requires. (Dual: as Weights.)
//   Entries     Late-arrival bound over a cut. `group` of each rank, 1 inside and 0 outside; `prices` (one
//               entry) give every link that enters a w >= m >= 1. M chunks start outside only, each wanted by
//               W ranks inside or more. A chunk that entered at one rank has spread, t rounds later, from
//               there to at most g(t) ranks, over links inside: g(0) = 1, g(t) <= (1 + K) g(t - 1), where a
//               rank sends to at most K others inside per round, and g(t) is at most the ranks inside that
//               are t hops from any one. So a crossing t rounds before the end is worth min(g(t), W) / W of a
//               chunk, and m * M * W <= sum(bandwidth * price) * (sum over t < rounds of min(g(t), W)). Sums
//               with one destination: as their dual. Without abilities and chosen routes.
//   Refutation  The formula of the claim with one round less was refuted; a proof checker accepted the proof.
//               If the claim is that there is no schedule at all (of a sum with several destinations): the
//               formula of `chunk` alone with as many rounds as its steps can use (bounds.md). The formula is
//               named by the SHA-256 of its DIMACS text, as is the file of a kept proof.
struct Certificate {
  enum class Kind { None, Distance, Weights, Partition, Trees, Cuts, Growth, Entries, Refutation };
  Kind kind = Kind::None;
  Chunk chunk = 0;
  Rank rank = 0;
  std::vector<Prices> prices = {};
  std::vector<int> group = {};
  std::vector<TimedCut> cuts = {};
  std::string formula_sha256 = {};
  bool operator==(const Certificate&) const = default;
};

inline constexpr int kAnySteps = INT_MAX;    // Claim::steps, Space::max_steps: however many
inline constexpr int kAnyRounds = INT_MAX;   // Space::max_rounds, extra_rounds: however many
inline constexpr int kAnyChunks = INT_MAX;   // Space::max_chunks: however many
inline constexpr int kNoSchedule = INT_MAX;  // Claim::rounds: no schedule at all

// "Every schedule of at most `steps` steps of `collective` with `chunks` chunks per block takes at least
// `rounds` rounds." With `any_chunks`, of whatever chunk count: "... takes at least `rounds` rounds per
// `chunks` chunks". Distances, prices, cuts and partitions can show that (docs/bounds.md); and if one chunk
// alone cannot be served, no number of chunks can.
struct Claim {
  // For the phases of a composition this differs from the result's.
  CollectiveKind collective = CollectiveKind::Custom;
  int chunks = 1;
  bool any_chunks = false;
  int steps = kAnySteps;
  int rounds = 0;
  Certificate certificate = {};
  double seconds = 0;  // that finding and checking it took
  bool operator==(const Claim&) const = default;
};

// Is the claim about this collective with `chunks` chunks per block?
bool speaks_of(const Claim&, CollectiveKind, int chunks);
// Returns the fewest rounds of such a schedule, by a claim that is about it; kNoSchedule: there is none.
int rounds_claimed(const Claim&, int chunks);
// The most chunks per which a claim about any chunk count counts its rounds, so that sums of two such rates
// fit.
inline constexpr int kMostPerRate = 1 << 15;

// rounds / chunks as a number that is compared exactly; rounds = kNoSchedule is more than any other.
struct Rate {
  long long rounds = 0;
  long long chunks = 1;
  bool operator==(const Rate&) const = default;
};
bool less(const Rate& a, const Rate& b);

// "No schedule for blocks of `block_bytes` ends sooner after the call than `us`, however its messages wait
// and blocks are cut": a bound in time (cost/event_time.h has its rules). Either a claim shows it, by its
// prices, or a cut in time (docs/bounds.md proves both):
//
//   claim   The number of a claim of the result about any number of steps and chunks. All that pays has left
//           its links and limits by then, less their latency.
//   until   By rank: it is inside from 0 until then. What waits never enters; a send over a link enters if
//           its source was outside when it began, and its destination is inside when it arrives. So a link
//           carries what enters for `until` of its destination less latency less that of its source, at most,
//           and a limit for as long as any of its links does. Chunks whose sources are all outside at 0
//           (combining: one contributor is), and one of whose destinations is inside until `us`, have to
//           enter. What enters over a link is charged to the first of `limits` over it, else to the link.
struct TimeClaim {
  double block_bytes = 0;
  double us = 0;
  int claim = -1;  // -1: a cut
  std::vector<double> until = {};
  std::vector<int> limits = {};  // of the machine
  bool operator==(const TimeClaim&) const = default;
};

// How a schedule relates to the question; its construction names what made it.
enum class Method {
  Direct,    // made as what was asked for
  Dual,      // found as the dual on the reversed machine
  Composed,  // a ReduceScatter (or, where sums are made at once, an Alltoall) and then an Allgather
  Gathered,  // each rank's vector is gathered, and added up locally
  Levels,    // hierarchical composition of schedules of groups (ir/outline.h)
  Patched,   // an older schedule, made whole again after a failure
  // The baseline algorithms (construct/baselines/classic.h).
  RingAllgather,
  RingReduceScatter,
  RingAllReduce,
  MultiRingAllgather,
  MultiRingReduceScatter,
  MultiRingAllReduce,
  TreeBroadcast,
  TreeReduce,
  TreeAllReduce,
  TwoTreeAllReduce,
  BinomialBroadcast,
  BinomialReduce,
  BinomialGather,
  BinomialScatter,
  RecursiveDoublingAllgather,
  RecursiveHalvingReduceScatter,
  RecursiveDoublingAllReduce,
  HalvingDoublingAllReduce,
  DirectAllgather,
  DirectReduceScatter,
  DirectAllReduce,
  OneShotAllReduce,
  DirectAlltoall,
  MultiRingBroadcast,
  MultiRingReduce,
  PatAllgather,
  PatReduceScatter,
  PairwiseAlltoall,
  NvlsAllReduce,
  NvlsTreeAllReduce,
  CollnetDirectAllReduce,
  CollnetChainAllReduce,
  DirectBroadcast,
  DirectReduce,
  BruckAllgather,
  BruckAlltoall,
  DisjointTreesBroadcast,
  DisjointTreesReduce,
  HierarchicalAllgather,
  HierarchicalReduceScatter,
  HierarchicalAllReduce,
};

struct Point {
  Cost cost = {};
  Method method = Method::Direct;
  // What made the schedule: an engine ("sat"), a baseline algorithm, or a unit of construct/ ("tree_growth");
  // of a composed one both phases, "sat + tree_growth". "": not known. It is information; no claim rests on
  // it.
  std::string construction = {};
  Collective collective = {};  // what the schedule does: chunk numbers and buffer positions are its
  Schedule schedule = {};
  int reduce_scatter_steps =
      0;                    // Composed: the first steps of the schedule, after which its Allgather begins
  bool on_frontier = true;  // no other point of the result dominates it
  bool proven = false;  // claims of the result show that no schedule in the searched space dominates it; of a
                        // point that others dominate: none of its own family with its own chunks
  // The fewest rounds per chunk that the claims leave possible in the searched space with at most its steps;
  // of a point that others dominate, in its own family with its own chunks. The excess of the point over it
  // is its gap.
  Rate bound = {};
  double seconds = 0;  // of search
  bool operator==(const Point&) const = default;
};

// Returns with what a composed AllReduce may begin, before its Allgather: a ReduceScatter where partial sums
// travel; in a fixed order an Alltoall, too, whose copies any rank relays, and which are added up at the end.
std::vector<CollectiveKind> first_phases(const Collective& allreduce);
// Returns what that and the Allgather are together.
CollectiveKind kind_of_both(CollectiveKind first);

// What a composed point does one after the other: a ReduceScatter, and an Allgather. Requires
// Method::Composed, a multiple of the ranks in chunks, and at most as many reduce_scatter_steps as there are
// steps.
struct Phase {
  Collective collective = {};
  Schedule schedule = {};
};
std::array<Phase, 2> phases(const Point&);

// (rounds/chunks of the point) / bound - 1; 0 where both are 0, infinite where only the bound is.
double gap(const Point&);

// What a result speaks of: all schedules of the collective with
//   min_chunks <= chunks of a block <= max_chunks       (docs/formats.md: of AllReduce, family by family);
//                                                       max_chunks may be kAnyChunks
//   steps <= max_steps,  rounds <= max_rounds,  rounds <= steps + extra_rounds (the k of k-synchronous)
struct Space {
  int min_chunks = 1;
  int max_chunks = 1;
  int max_steps = kAnySteps;
  int max_rounds = kAnyRounds;
  int extra_rounds = kAnyRounds;
  bool operator==(const Space&) const = default;
};
// Returns the most rounds that the space allows to a schedule of `steps` steps.
int most_rounds(const Space&, int steps);

// What the search was not to exceed. None of it changes what is true, only what was found and shown of it.
struct SearchLimits {
  std::optional<std::int64_t> conflicts = {};  // of a question to a solver
  std::optional<std::int64_t> time_ms = {};
  std::optional<std::int64_t> memory_bytes = {};
  bool operator==(const SearchLimits&) const = default;
};

// What is still open: with at most `steps` steps (and not fewer), `found` rounds per chunk are the fewest
// found, and fewer, down to `bound`, are not excluded.
struct Opening {
  int steps = 0;
  std::optional<Rate> found = {};
  Rate bound = {};
  bool operator==(const Opening&) const = default;
};

enum class ResultKind { Frontier, Synthesis, Algorithm };  // Algorithm: a baseline
// Why a search ended before everything was decided. Size: a formula would have been too large to build. Not
// expressible: the open questions are about k-synchronous schedules alone, and formulas are about all
// schedules; or about routes that were not chosen (Topology::underlay), and formulas are about links. Chunk
// counts: the question is about any chunk count, not all was decided, and a solver was asked about the
// smallest counts only. Effort: the work that was asked for is done. Unchecked: it was complete by
// refutations that were left out, since they have not been checked (jobs/library.h).
enum class Stopped {
  No,
  Interrupted,
  TimeLimit,
  MemoryLimit,
  ConflictLimit,
  SizeLimit,
  NotExpressible,
  ChunkCounts,
  Effort,
  Unchecked
};

// As files and people have them.
std::span<const Named<Certificate::Kind>> certificate_kinds();
std::span<const Named<Method>> methods();
std::span<const Named<ResultKind>> result_kinds();
std::span<const Named<Stopped>> endings();  // "" for No, "time limit", ...
std::string name_of(Method);
// Returns the same with '_' for what a construction's name may not have, and no more than 400 characters:
// names of levels come from files.
std::string construction_name(std::string);
// Returns "tree_growth"; of two phases "sat + tree_growth"; if the method is more specific,
// "gather+local_reduce (sat)".
std::string origin(const Point&);
std::string name_of(ResultKind);
std::string name_of(Stopped);

inline constexpr int kNotStated = -1;     // Result::complete_chunks
inline constexpr int kMostComplete = 64;  // chunk counts that complete_chunks examines, from min_chunks on

struct Result {
  ResultKind kind = ResultKind::Frontier;
  Topology topology =
      {};  // flattened: the links that schedules name; claims are of what is below, if anything is
  Collective collective = {};  // as requested, with one chunk per block
  Space space = {};
  SearchLimits limits = {};
  bool complete = false;  // the claims show that no schedule of the space is better than the points
  // The same of min_chunks to this many chunks per block (kMostComplete and fewer are examined); 0: of no
  // chunk count. max_chunks if complete; kNotStated of an older file.
  int complete_chunks = 0;
  Stopped stopped = Stopped::No;
  std::vector<Point> points = {};      // those on the frontier by steps, then the others by chunks and steps
  std::vector<Opening> openings = {};  // by steps; none if complete
  std::vector<Claim> claims = {};
  std::vector<TimeClaim> time_claims = {};  // of sizes that were asked for
  double seconds = 0;
  bool operator==(const Result&) const = default;
};

// Returns the strongest bound on rounds per chunk, whatever the chunk count and the steps, that is claimed;
// 0/1 if none is.
Rate rate_bound(const Result&);

// Returns what a schedule costs, counted from its steps. `chunks`: per block, of the collective that it is
// of.
inline Cost cost_of(const Schedule& schedule, int chunks) {
  return {
      .steps = static_cast<int>(schedule.steps.size()), .rounds = total_rounds(schedule), .chunks = chunks};
}

}  // namespace chorale
