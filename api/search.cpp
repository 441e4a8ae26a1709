// Questions are looked at before they go to the rooms behind, which take them for granted, and machines lose
// their switches. What is made without a search gets its bounds, so that it is a result like others.
#include "api/search.h"

#include <fmt/format.h>

#include <memory>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/classic.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "pareto/check.h"
#include "pareto/cubes.h"
#include "pareto/findings.h"
#include "pareto/search.h"
#include "semantics/verify_ways.h"
#include "topology/switches.h"

namespace chorale {

void require_question(const Topology& topology, const Collective& collective) {
  if (const std::vector<Fault> wrong = way_faults(topology, 1); !wrong.empty())
    throw InputError("topology " + topology.name, wrong.front().words,
                     "describe the machine with its switches; its ways are found");
  if (collective.ranks != topology.ranks)
    throw InputError(name_of(collective), fmt::format("is of {} ranks", collective.ranks),
                     fmt::format("the machine has {}", topology.ranks));
  if (collective.chunks_per_block != 1)
    throw InputError(name_of(collective),
                     fmt::format("cuts a block into {} chunks", collective.chunks_per_block),
                     "give it one chunk a block; options cut it into more");
}

Result frontier(const Topology& machine, const Collective& collective, const FrontierOptions& given) {
  require_question(machine, collective);
  // Kept as long as somebody may ask what was found, which is longer than the search.
  const auto topology = std::make_shared<const Topology>(flatten(machine));
  FrontierOptions options = given;
  if (!options.us && !links_alike(*topology))
    options.us = [topology](const Point& point, double bytes) { return point_us(*topology, point, bytes); };
  return search_frontier(*topology, collective, options);
}

SynthesisResult synthesize(const Topology& topology, const Collective& collective,
                           const SynthesisQuestion& question, const FrontierOptions& options) {
  require_question(topology, collective);
  return search_synthesis(flatten(topology), collective, question, options);
}

CubeAnswer solve_cube(const Topology& machine, const Collective& collective, const CutQuestion& question,
                      const Cube& cube, const SynthesisOptions& options) {
  require_question(machine, collective);
  const Topology topology = flatten(machine);
  const Collective asked = part_of(collective, question.collective, question.chunks);
  for (const Decision& decision : cube.decisions)
    if (decision.chunk < 0 || decision.chunk >= std::ssize(asked.chunks) || decision.link < 0 ||
        decision.link >= std::ssize(topology.links))
      throw InputError("a cube", "is of another question",
                       "give the machine and collective that were searched");
  return solve_cube(topology, asked, question.budget, cube, options, Deadline(options.limits));
}

Result classic(const Topology& machine, const ClassicQuestion& question) {
  const Topology topology = flatten(machine);
  const Point point = classic_algorithm(
      question.name, topology, {.chunks = question.chunks, .order = {}, .root = question.root.value_or(0)});
  const Collective& does = point.collective;
  if (question.root && !is_rooted(does.kind))
    throw InputError("--root", name_of(does) + " has no root", "leave it out");
  const int chunks = point.cost.chunks;
  const Collective one_chunk = make_collective(does.kind, topology.ranks, 1, does.root);
  Result result{.kind = ResultKind::Algorithm,
                .topology = topology,
                .collective = one_chunk,
                .space = {.min_chunks = chunks, .max_chunks = chunks},
                .points = {point}};
  const Collective asked = with_chunks(one_chunk, chunks);
  LowerBounds bounds(topology, asked);
  if (bounds.fewest_steps().steps > 0) result.claims = {bounds.fewest_steps().claim, bounds.fewest_rounds()};
  finish_result(result);
  return result;
}

Bounds bounds(const Topology& machine, const Collective& one_chunk, const BoundsQuestion& question) {
  require_question(machine, one_chunk);
  const Topology topology = flatten(machine);
  const Collective collective = with_chunks(one_chunk, question.chunks);
  // The cheap bounds first, and each told when it is there: a limit may end what follows.
  const auto tell = [&](const Bounds& known) {
    if (question.progress) question.progress(known);
  };
  LowerBounds bounds(topology, collective);
  Bounds known{.steps = bounds.fewest_steps().steps, .fewest_steps = bounds.fewest_steps().claim};
  tell(known);
  if (known.steps == 0) return known;
  known.rounds = bounds.fewest_rounds();
  known.rate = rate_shown(topology, collective, known.rounds.certificate);
  known.within = question.steps.value_or(known.steps);
  tell(known);
  known.rounds_within =
      known.within < known.steps ? known.fewest_steps : bounds.fewest_rounds_in(known.within);
  return known;
}

CheckReport check(const Result& result, const CheckOptions& options) {
  return check_result(result, options.proof_dir, options.limits, options.progress, options.plain);
}

}  // namespace chorale
