// Schedules: the best ones, a requested one, the baselines; lower bounds; and the check of a result.
//
// Switches of the machine are removed first. A collective is that of the machine's ranks, with one chunk per
// block: the number of chunks that a block is cut into is part of the question.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/fields.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/machine_changes.h"
#include "ir/report.h"
#include "ir/search_options.h"

namespace chorale {

// What every room behind here requires: the machine's ranks, one chunk per block. Throws InputError.
void require_question(const Machine&, const Collective&);

// The Pareto-optimal schedules in steps and in rounds per chunk, with claims that prove it. A limit, or
// SolveLimits::stop, leaves what was found, marked unproven, with the reason in Result::stopped. The same
// question gives the same answer, unless a limit of time cuts it. Chunk counts are chosen where
// FrontierOptions::max_chunks does not limit them; the smallest ones are then searched by the solver. Where
// switches multicast or reduce, points by links alone are among those that others dominate, for executors
// that cannot ask switches (ir/links_alone.h).
Result frontier(const Machine&, const Collective&, const FrontierOptions& = {});
Result frontier(const Topology& described, const Collective&, const FrontierOptions& = {});

// One question instead of all: a schedule within a budget, as a result of one point. Unknown may come with a
// point, the best until a limit.
SynthesisResult synthesize(const Topology&, const Collective&, const SynthesisQuestion&,
                           const FrontierOptions& = {});

// A baseline algorithm by name ("ring_allreduce": known_classics()) as a result of one point, with the bounds
// of its collective, which show its distance from the best. `chunks`: pieces of a block; 0: the fewest that
// use all links which it needs at once.
struct ClassicQuestion {
  std::string name = {};
  int chunks = 0;
  std::optional<Rank> root = {};  // of those that have one; 0 if not given
  // Called with it, once it is verified, before its bounds are computed, which takes long on large machines.
  std::function<void(const Result&)> found = {};
};
Result classic(const Topology&, const ClassicQuestion&);
// The same with `chunks` chunks, 0 for the fewest; nullopt if the machine does not suit the algorithm.
std::optional<Result> classic_if_possible(const Topology&, Method, int chunks);

template <>
struct Fields<Progress> {
  using P = Progress;
  static constexpr auto all = plain_fields<&P::doing, &P::points, &P::seconds>();
};

// What no schedule can beat, with a certificate for each claim.
struct Bounds {
  int steps = 0;            // of any schedule; 0: nothing has to move, and there is nothing to claim
  Claim fewest_steps = {};  // one step less is impossible
  Claim rounds = {};        // of any schedule of this collective with its chunks
  Rate rate = {};           // rounds per chunk for any number of chunks; 0/1: none is known
  int within = 0;           // the number of steps that `rounds_within` is about
  Claim rounds_within = {};
};
template <>
struct Fields<Bounds> {
  using B = Bounds;
  static std::optional<Rate> known_rate(const B& known) {
    return known.rate.rounds == 0 ? std::nullopt : std::optional(known.rate);
  }
  static constexpr std::tuple all = {field<&B::steps>(),  field<&B::fewest_steps>(),
                                     field<&B::rounds>(), Derived<B, known_rate>{{.name = "rate"}},
                                     field<&B::within>(), field<&B::rounds_within>()};
};
struct BoundsQuestion {
  int chunks = 1;                 // into which each block is cut
  std::optional<int> steps = {};  // for `rounds_within`; the fewest if not given
  // Called whenever more is known, in the order of the members above: after `fewest_steps`, after `rate`.
  std::function<void(const Bounds&)> progress = {};
};
Bounds bounds(const Topology&, const Collective&, const BoundsQuestion& = {});

// A row per bound, with what its certificate prices, in words. Stopped: the first that is not known has the
// reason.
Report report_of(const Topology&, const Collective&, const BoundsQuestion&, const Bounds&,
                 Stopped stopped = Stopped::No);

// Verifies a result from scratch: every schedule, every certificate, every refutation, and that the claims
// support the points. Nothing in the result is trusted.
struct CheckOptions {
  std::string proof_dir = {};  // take the proofs that were kept there; "": refute again
  std::string pb_dir = {};     // where bounds are written as pseudo-Boolean proofs (docs/formats.md)
  PbFormat pb_format = PbFormat::V2_0;
  std::string lrat_dir = {};  // where refutations are written as LRAT (docs/formats.md); "": nowhere
  SolveLimits limits = {};    // of all refutations together
  PlainEffort plain = {};     // what may be spent on a refutation by the plain formula (docs/trust.md)
  std::function<void(const CheckReport&)> progress =
      {};  // called with what has been checked, after every point and claim
};
CheckReport check(const Result&, const CheckOptions& = {});

// Schedules after failures: what is left of old ones, made whole again.

struct Repair {
  std::vector<Point> known = {};  // to begin a search with: FrontierOptions::known
  Cost before = {};               // of the old point with the fewest rounds per chunk
  std::optional<Cost> patched =
      {};  // the best of what was made of the old points, of its own; none: nothing could be
  long long sends = 0, lost = 0;  // of all old schedules on their frontier; `lost` had no link any more
};

// The points of a result for the machine before the changes, patched for the machine after them: each keeps
// what still works (construct/repair.h). `asked`: the collective on the ranks that are left, as
// collective() gives it. Throws InputError at "--repair" where the result is of another collective or
// machine, or of one whose root is gone.
Repair repair(const Result& old, const std::string& spec_or_file, const MachineChanges&,
              const Collective& asked, const std::atomic<bool>* stop = nullptr);

// What a point moves of a block in a second, on links that are full: 1e9 bytes.
double rate_gbs(const Topology&, const Cost&);

}  // namespace chorale
