// The complete frontier over (steps, rounds/chunks).
#pragma once

#include <functional>

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
  int extra_rounds = -1;                     // only rounds <= steps + this (k-synchronous), if not negative
  int max_steps = -1;                        // only these steps and fewer, if not negative
  std::chrono::milliseconds time_limit{-1};  // for the whole search
  int jobs = 1;                              // chunk counts searched side by side
  SynthesisOptions synthesis = {};
  std::function<void(const Progress&)> progress = {};  // called often, from one thread at a time
};

// Points for every chunk count, those on the merged frontier marked; claims that prove them. A limit or
// `stop` leaves what was found, marked unproven, and says why in Result::stopped.
Result search_frontier(const Topology&, const Collective& one_chunk, const FrontierOptions&);

// From points and claims: which points are on the frontier and proven, their certificates in words, and
// whether the result is complete (which `stopped` rules out). Verifies every schedule; a wrong one is a bug
// and throws std::logic_error.
void finish_result(Result&);

}  // namespace chorale
