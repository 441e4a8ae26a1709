// What synthesis returns: points (schedules with their cost) and claims (lower bounds with their
// certificates), such that the claims show the points to be optimal. Everything in here can be checked by
// someone who trusts none of it.
#pragma once

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/collective.h"
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
  std::vector<int> links = {};   // one a link
  std::vector<int> limits = {};  // one a shared limit
  bool operator==(const Prices&) const = default;
};

// Why a Claim holds. Which fields count depends on the kind; docs/bounds.md proves each.
//
//   None        Nothing was shown.
//   Distance    `chunk` cannot reach `rank` from any rank that has it within the claimed steps: too many hops.
//               (Combining: a contribution to `chunk` at `rank` cannot reach all its destinations.)
//   Weights     `prices`: moving a chunk over link l in step s costs w = price of l + prices of the limits with
//               l. Every chunk pays at least the cheapest path (one link a step, or waiting for free) to its
//               most expensive destination; a round of step s can be paid at most sum(bandwidth * price) of
//               step s. Prices for each step of the claim, or one entry that holds for every step and any
//               number of them. Cuts and duals of flow problems are of this kind (reference: ForestColl;
//               maximum concurrent flow).
//   Partition   AllReduce: `group` of each rank, k groups. Every chunk crosses between groups at least 2(k-1)
//               times; `prices` (one entry) give every crossing link a w >= 1, so
//               2(k-1) * chunks <= rounds * sum(bandwidth * price).
//   Growth      The chunks that are equal to `chunk` (same pre and post; at most six are looked at) cannot
//               spread faster. Their first holders together send at most k chunks a round, any other rank at
//               most K, and receives at most J (each rate: its links, or a shared limit over some of them). Let
//               n_c ranks beyond the first holders hold chunk c, M such ranks there be, and a step of r rounds
//               give chunk c to x_c more. Then sum_c max(0, x_c - r K n_c) <= r k, since only first holders and
//               the n_c send c; and sum_c x_c <= r min(k + K min(M, sum_c n_c), J M). From n = 0, no choice of
//               x and of steps of r rounds (one round less than claimed, together) brings every n_c to the
//               number that the postcondition asks for. (Dual: as Weights.)
//   Refutation  The formula of the claim with one round less was refuted; a proof checker accepted the proof.
//               Both are named by their SHA-256.
struct Certificate {
  enum class Kind { None, Distance, Weights, Partition, Growth, Refutation };
  Kind kind = Kind::None;
  Chunk chunk = 0;
  Rank rank = 0;
  std::vector<Prices> prices = {};
  std::vector<int> group = {};
  std::string engine = {};          // of a refutation: "sat", ...
  std::string formula_sha256 = {};  // of its DIMACS text
  std::string proof_sha256 = {};    // of the DRAT text
  std::int64_t proof_bytes = 0;
  bool operator==(const Certificate&) const = default;
};

inline constexpr int kAnySteps = INT_MAX;    // Claim::steps: however many
inline constexpr int kNoSchedule = INT_MAX;  // Claim::rounds: no schedule at all

// "Every schedule of at most `steps` steps of `collective` with `chunks` chunks a block takes at least
// `rounds` rounds."
struct Claim {
  std::string collective = {};  // name; for the parts of a composition this differs from the result's
  int chunks = 1;
  int steps = kAnySteps;
  int rounds = 0;
  Certificate certificate = {};
  double seconds = 0;  // that finding and checking it took
  bool operator==(const Claim&) const = default;
};

struct Point {
  Cost cost = {};
  std::string method =
      {};  // "direct", "reduce_scatter+allgather", "gather+local_reduce", "dual", "ring", ...
  Collective collective = {};  // what the schedule does: chunk numbers and buffer positions are its
  Schedule schedule = {};
  bool on_frontier = true;  // no other point of the result dominates it
  bool proven = false;      // claims of the result show that no schedule in the searched space dominates it
  std::string certificate = {};  // in words: which bounds, or refutations, close the gap
  double seconds = 0;            // of search
  bool operator==(const Point&) const = default;
};

struct Result {
  std::string kind = "frontier";  // or "synthesis" or "algorithm" (a hand-written one)
  Topology topology = {};         // flattened: the links that schedules name
  Collective collective = {};     // asked for, with one chunk a block
  int min_chunks = 1;             // the searched space: chunks per block ...
  int max_chunks = 1;
  int extra_rounds = -1;     // ... and rounds <= steps + this, if not negative (the k of k-synchronous)
  bool complete = false;     // every point is proven and nothing of the searched space was left undecided
  std::string stopped = {};  // why not complete: "", "time limit", "interrupted", "conflict limit"
  std::vector<Point> points = {};  // by chunks, then steps
  std::vector<Claim> claims = {};
  double seconds = 0;
  bool operator==(const Result&) const = default;
};

}  // namespace chorale
