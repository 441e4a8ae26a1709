// The complete frontier over (steps, rounds/chunks).
#pragma once

#include <functional>
#include <optional>

#include "ir/frontier.h"
#include "pareto/synthesize.h"

namespace chorale {

struct Progress {
  std::string doing = {};  // "allgather, 3 chunks, 2 steps, 4 rounds: asking cadical"
  int points = 0;          // found so far
  double seconds = 0;
};

struct FrontierOptions {
  int min_chunks = 1;
  int max_chunks = 1;
  int extra_rounds = kAnyRounds;                  // only rounds <= steps + this (k-synchronous)
  int max_steps = kAnySteps;                      // only these steps and fewer
  std::chrono::milliseconds time_limit{-1};       // for the whole search
  std::optional<std::int64_t> memory_bytes = {};  // what the process may take; only said in the result
  int jobs = 1;                                   // chunk counts searched side by side
  SynthesisOptions synthesis = {};
  std::function<void(const Progress&)> progress = {};  // called often, from one thread at a time
  // Called once, before the search begins, with what says at any time and from any thread what has been found
  // so far; whoever must end the program before the search does asks it.
  std::function<void(std::function<Result()>)> publish = {};
};

// Points for every chunk count, those on the merged frontier marked; claims that prove them. The first points
// are those that need no search (construct/incumbents.h). A limit or `stop` leaves what was found, marked
// unproven, and says why in Result::stopped. Chunk counts are searched from the smallest on, and none looks at
// what larger ones found, so that asking for more finds no less.
Result search_frontier(const Topology&, const Collective& one_chunk, const FrontierOptions&);

// One question instead of all: a schedule within a budget, as a result of one point (kind Synthesis). What is
// not given is taken as low as possible: first the steps, then the rounds.
struct SynthesisQuestion {
  int chunks = 1;
  std::optional<int> steps = {};
  std::optional<int> rounds = {};
};
struct SynthesisResult {
  Verdict verdict = Verdict::Unknown;  // Unsat: shown by the claims, or said by another engine than ours
  Result result = {};                  // a point although Unknown: the best until the limit
  std::int64_t conflicts = 0;
};
SynthesisResult search_synthesis(const Topology&, const Collective& one_chunk, const SynthesisQuestion&,
                                 const FrontierOptions&);

// mark() of optimality.h, after every schedule has been verified; a wrong one is a bug and throws
// std::logic_error. What is complete was not stopped.
void finish_result(Result&);

}  // namespace chorale
