// What placement returns: the matrices of a job on a hierarchy, best first, with their strategies.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/placement.h"

namespace chorale {

inline constexpr int kMostListedDevices = 4096;
inline constexpr int kMostCounted = 5;  // instructions, as in the paper's counts

struct PricedInstruction {
  StrategyInstruction instruction = {};
  double us = 0;
  double latency_us = 0;     // contained in us
  std::string binding = {};  // the port, link or path that is busiest
  int rings = 1;             // side by side, or chains, or trees
  std::string pattern = {};  // "ring", "tree", "chain", "all to all", "shift"; "": an older file
  bool operator==(const PricedInstruction&) const = default;
};

struct RankedStrategy {
  std::vector<PricedInstruction> instructions = {};
  double us = 0;
  LoweredStrategy lowered = {};  // on the whole machine; left out beyond kMostListedDevices
  bool operator==(const RankedStrategy&) const = default;
  Strategy strategy() const;
};

// A strategy that the user brought, under one matrix.
struct OwnStrategy {
  std::string fault = {};                // why it is not one here; empty: it is one, and
  std::vector<std::string> levels = {};  // these are the levels of its instructions,
  RankedStrategy priced = {};            // which take so long
  bool operator==(const OwnStrategy&) const = default;
};

// One reduction of the job under one matrix.
struct ReductionRanking {
  int reduction = 0;  // of the job
  // Names of the synthesis hierarchy; [0] is the root. Levels of the machine that strategies treat as one:
  // "rack+node".
  std::vector<std::string> levels = {};
  std::vector<int> sizes = {};  // of the same; a single 1: nothing to reduce
  double allreduce_us = 0;      // of a single AllReduce over whole groups
  long long programs = 0;       // strategies of at most kMostCounted instructions
  long long faster = 0;         // of these, than the AllReduce
  // The same count as `programs` over each of kSynthesisChoices, whichever was chosen.
  std::array<long long, std::size(kSynthesisChoices)> programs_over = {};
  // Cheapest first; the first is proven to be the cheapest of any length over these levels (of those that a
  // solver has found: Ranking::solver).
  std::vector<RankedStrategy> strategies = {};
  // Of Goal::AllToAll and Goal::Shift, which are one step without an instruction: its time, instead of
  // strategies.
  std::optional<PricedInstruction> exchange = {};
  std::optional<OwnStrategy> own = {};  // if one was given, and there is something to sum
  double from_us = 0, to_us = 0;  // in the iteration, by its first strategy; only where the job overlaps
  bool operator==(const ReductionRanking&) const = default;
};

struct RankedMatrix {
  ParallelismMatrix matrix = {};
  double us = 0;            // of all reductions of an iteration, each by its best strategy
  double allreduce_us = 0;  // and each by a single instruction
  // If the job names predecessors (overlaps()), `us` is the time until all have ended, and this their sum;
  // else 0.
  double one_by_one_us = 0;
  std::vector<ReductionRanking> reductions = {};
  bool operator==(const RankedMatrix&) const = default;
};

// Sizes of the axes of a job template, and an iteration with them: computed, then communicated.
struct RankedSizes {
  std::vector<int> sizes = {};
  double memory_bytes = 0;  // that a device keeps
  double compute_us = 0;
  double communication_us = 0;  // with the best matrix
  double us() const { return compute_us + communication_us; }
  bool operator==(const RankedSizes&) const = default;
};

struct SizeChoices {
  int all = 0;     // that multiply to the number of devices
  int fit = 0;     // of these, that the job's conditions allow
  int priced = 0;  // of these; all unless a limit or Ctrl-C ended the work
  bool operator==(const SizeChoices&) const = default;
};

// What a solver was asked for matrices and strategies, and what it showed. All false, 0: no solver was asked.
struct SolverReport {
  long long strategies = 0;  // found, of at most kMostCounted instructions, over all numbers of levels
  long long calls = 0;
  long long conflicts = 0;
  double seconds = 0;
  // No limit ended a call: these are all strategies of at most kMostCounted instructions, and all matrices.
  bool complete = false;
  bool nothing_longer = false;  // and it has refuted that there is a longer strategy
  bool operator==(const SolverReport&) const = default;
};

struct Ranking {
  Hierarchy hierarchy = {};
  Job job = {};
  std::string algorithm = {};  // "ring", "tree", "auto"
  std::string rules = {};      // "paper", "full"
  std::string synthesis = name_of(SynthesisKind::Collapsed);
  // "enumerate", "sat", "smt". With a solver, strategies are the cheapest of those that it has found; with
  // enumeration, of any length.
  std::string engine = "enumerate";
  std::optional<SolverReport> solver = {};
  Conditions conditions = {};  // that matrices had to obey
  int matrices = 0;            // that fit and obey the conditions
  int priced = 0;              // of these; all unless a limit or Ctrl-C ended the work
  // of these: a reduction has no strategy over that hierarchy, so they are not ranked
  int without_strategy = 0;
  std::vector<RankedMatrix> best = {};
  // The placement that the job has today: not among the best unless it is one of them, and whether it obeys
  // the conditions or not.
  std::optional<RankedMatrix> present = {};
  double seconds = 0;
  // Where sizes were chosen (placement/place.h), best first: the job is that with the first ones. Else
  // none.
  std::vector<RankedSizes> sizes = {};
  SizeChoices size_choices = {};
};

// What a check of a ranking has found.
struct RankingReport {
  int placements = 0;  // examined
  int strategies = 0;  // verified and priced again
  int matrices = 0;    // priced again, to see that none is better
  std::vector<Fault> faults = {};
};

inline constexpr int kRankingVersion = 1;  // "chorale_ranking": 1

// For other programs and for the page: docs/formats.md.
std::string to_json(const Ranking&);

// Is this text meant as one? (By its first key.)
bool is_ranking(std::string_view text);

// Returns what the text states, whether it is true or not: placement/check_ranking.h verifies that. Refused
// are names of levels that do not exist, and groups with devices that do not exist. Throws InputError that
// names the place.
Ranking ranking_from_json(std::string_view text, const std::string& file);

// A ranking of placements in sentences: where each axis lies, what its communication takes and by which
// algorithm, what binds it, what the next best placement costs, and how far off the present one is.

// Returns "tensor (8) over the 8 GPUs of a node; data (4) over the 4 nodes". An axis that takes a part of a
// level lies on neighbours ("4 adjacent GPUs of a node"), or apart ("2 GPUs of a node (4 apart)").
std::string in_words(const ParallelismMatrix&, const std::vector<Axis>&, const Hierarchy&);

// Returns the first placement, one sentence per communication, the next best one, and the present one if it
// was given. Empty if nothing was priced.
std::vector<std::string> sentences(const Ranking&);

}  // namespace chorale
