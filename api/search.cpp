// Questions are checked before they go to the rooms behind, which rely on that, and machines lose their
// switches. A schedule that is made without a search gets its bounds, so that it is a result like others.
#include "api/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/timed_stop.h"
#include "construct/baselines/classic.h"
#include "cost/cost.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/words.h"
#include "pareto/check.h"
#include "pareto/findings.h"
#include "pareto/search.h"
#include "pareto/strongest_bounds.h"
#include "pareto/synthesis_search.h"
#include "semantics/verify_routes.h"
#include "topology/switches.h"

namespace chorale {

namespace {

// No search could keep the schedules of more chunks.
void require_chunks(const char* what, int chunks) {
  constexpr int kMost = 4096;
  if (chunks < 1 || chunks > kMost)
    throw InputError(what, fmt::format("{} is out of range", chunks), fmt::format("use 1 to {}", kMost));
}

// With the bounds of what it does, of any number of steps and of at most `steps`.
// Reported once before the bounds are computed: these may take longer than the construction, and a limit of
// time may end them.
Result classic_result(const Topology& topology, const Point& point, int steps,
                      const std::function<void(const Result&)>& found) {
  const int chunks = point.cost.chunks;
  const Collective one_chunk = of_kind(point.collective, point.collective.kind, 1);
  Result result{.kind = ResultKind::Algorithm,
                .topology = topology,
                .collective = one_chunk,
                .space = {.min_chunks = chunks, .max_chunks = chunks},
                .points = {point}};
  finish_result(result);
  if (found) found(result);
  result.claims = StrongestBounds(topology, one_chunk).claims(chunks, steps, point.cost.rounds);
  mark_verified(result);
  return result;
}

std::vector<Fault> first_route_fault(const Topology& topology) {
  return route_faults(topology, 1);
}

}  // namespace

// One fault is enough to refuse a machine. Chunks are an option, so that a question is the same for all chunk
// counts.
void require_question(const Machine& machine, const Collective& collective) {
  const Topology& topology = machine.topology();
  if (const std::vector<Fault>& wrong = machine.once(first_route_fault); !wrong.empty())
    throw InputError("topology " + topology.name, wrong.front().words,
                     "describe the machine with its switches; routes are found");
  if (collective.ranks != topology.ranks)
    throw InputError(name_of(collective), "is of " + counted(collective.ranks, "rank"),
                     fmt::format("the machine has {}", topology.ranks));
  if (collective.chunks_per_block != 1)
    throw InputError(name_of(collective),
                     fmt::format("cuts a block into {} chunks", collective.chunks_per_block),
                     "give it one chunk per block; options cut it into more");
}

Result frontier(const Topology& described, const Collective& collective, const FrontierOptions& given) {
  return frontier(machine_of(described), collective, given);
}

Result frontier(const Machine& machine, const Collective& collective, const FrontierOptions& given) {
  require_question(machine, collective);
  require_chunks("min_chunks", given.min_chunks);
  if (given.max_chunks != kAnyChunks) require_chunks("max_chunks", given.max_chunks);
  FrontierOptions options = given;
  const TimedStop stop(options);
  // Steps and rounds alone would drop points that are the fastest at some size where links differ.
  if (!options.us && !machine.once(have_equal_rates))
    options.us = [machine](const Point& point, double bytes) {
      return *point_us(machine, point, bytes, nullptr);
    };
  Result result = search_frontier(machine, collective, options);
  stop.record_why(result);
  return result;
}

SynthesisResult synthesize(const Topology& described, const Collective& collective,
                           const SynthesisQuestion& question, const FrontierOptions& given) {
  const Machine machine = machine_of(described);
  require_question(machine, collective);
  require_chunks("chunks", question.chunks);
  FrontierOptions options = given;
  const TimedStop stop(options);
  SynthesisResult answer = search_synthesis(machine, collective, question, options);
  stop.record_why(answer.result);
  return answer;
}

Result classic(const Topology& described, const ClassicQuestion& question) {
  const Topology topology = machine_of(described).topology();
  const Point point = classic_algorithm(
      question.name, topology, {.chunks = question.chunks, .order = {}, .root = question.root.value_or(0)});
  if (question.root && !is_rooted(point.collective.kind))
    throw InputError("--root", name_of(point.collective) + " has no root", "leave it out");
  return classic_result(topology, point, point.cost.steps, question.found);
}

// A machine that does not suit the algorithm is an answer here, not an error: exports try several, and need
// no bound of its steps, which takes seconds on large machines.
std::optional<Result> classic_if_possible(const Topology& machine, Method method, int chunks) {
  const Topology topology = machine_of(machine).topology();
  const std::optional<Point> point = classic_if_possible(method, topology, {.chunks = chunks});
  if (!point) return {};
  return classic_result(topology, *point, kAnySteps, {});
}

Bounds bounds(const Topology& described, const Collective& one_chunk, const BoundsQuestion& question) {
  const Machine machine = machine_of(described);
  require_question(machine, one_chunk);
  const Topology& topology = machine.topology();
  // The cheap bounds first, and each reported as soon as it is known: a limit may end what follows.
  const auto tell = [&](const Bounds& known) {
    if (question.progress) question.progress(known);
  };
  StrongestBounds bounds(topology, one_chunk);
  const auto [steps, too_few] = bounds.fewest_steps(question.chunks);
  Bounds known{.steps = steps, .fewest_steps = too_few};
  tell(known);
  if (known.steps == 0) return known;
  known.rounds = bounds.rounds(question.chunks);
  known.rate = {.rounds = bounds.rate().rounds, .chunks = bounds.rate().chunks};
  known.within = question.steps.value_or(known.steps);
  tell(known);
  // Fewer steps than the fewest: what refutes these answers this question, too.
  known.rounds_within =
      known.within < known.steps ? known.fewest_steps : bounds.rounds(question.chunks, known.within);
  return known;
}

CheckReport check(const Result& result, const CheckOptions& options) {
  return check_result(result, options.proof_dir, options.limits, options.progress, options.plain,
                      formula_of_the_search,
                      {.lrat = options.lrat_dir, .pb = options.pb_dir, .pb_format = options.pb_format});
}

}  // namespace chorale
