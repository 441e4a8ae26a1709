// Points of all chunk counts are one result, with bounds, as the result of any other engine.
#include "api/compose.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "api/inputs.h"
#include "api/search.h"
#include "construct/composition.h"
#include "ir/error.h"
#include "ir/files.h"
#include "pareto/findings.h"
#include "pareto/optimality.h"
#include "pareto/strongest_bounds.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Outlines are kept by the cost of their points, since marking the points changes their order and number.
using PointKey = std::tuple<int, int, int>;

PointKey key_of(const Cost& cost) {
  return {cost.steps, cost.rounds, cost.chunks};
}

}  // namespace

// "reducescatter gpu, allreduce node, allgather gpu" is text, and has spaces or "="; a name that ends in
// ".json" and has neither is a file. The points of a stage that names a result are verified here, by the
// machine that the result has.
Outline read_outline(const std::string& text, const std::string& spec_or_file,
                     const MachineChanges& changes) {
  if (text.ends_with(".json") && text.find_first_of(" =") == std::string::npos)
    return outline_from_json(read_file(text), text, machine(spec_or_file, changes).topology().ranks);
  Outline outline = outline_in(text, nesting(spec_or_file, changes), "--outline");
  for (OutlineStage& stage : outline)
    if (!stage.file.empty()) {
      stage.points = read_sound_result(stage.file).points;
      if (stage.points.empty())
        throw InputError("--outline", stage.file + " has no schedules", "leave it out, or make it again");
    }
  return outline;
}

Composition compose(const Topology& given, const Collective& one_chunk, const ComposeOptions& options) {
  const Machine machine = machine_of(given);
  require_question(machine, one_chunk);
  const Topology& topology = machine.topology();
  Composition whole{
      .result = {.kind = ResultKind::Algorithm,
                 .topology = topology,
                 .collective = one_chunk,
                 .space = {.min_chunks = options.min_chunks, .max_chunks = options.max_chunks}}};
  std::map<PointKey, std::string> outlines;
  // Divisions follow from the machine alone, and are found once for all chunk counts.
  const std::vector<Nesting> divisions =
      options.outline.empty() ? nestings(topology) : std::vector<Nesting>();
  StrongestBounds bounds(topology, one_chunk, options.stop);
  for (int chunks = options.min_chunks; chunks <= options.max_chunks; ++chunks) {
    if (chunks > options.min_chunks && options.stop != nullptr && *options.stop) break;
    const Collective collective = with_chunks(one_chunk, chunks);
    if (bounds.fewest_steps().steps == 0) break;  // nothing has to move
    // The result so far with these points, marked anew: which are dominated depends on all.
    const auto with = [&](const std::vector<ComposedPoint>& points) {
      Composition more{.result = whole.result};
      std::map<PointKey, std::string> of_points = outlines;
      for (const ComposedPoint& each : points) {
        of_points[key_of(each.point.cost)] = each.outline;
        more.result.points.push_back(each.point);
      }
      mark_verified(more.result);  // as they were composed
      for (const Point& point : more.result.points) more.outlines.push_back(of_points.at(key_of(point.cost)));
      outlines = std::move(of_points);
      return more;
    };
    ComposeQuestion question{.topology = topology, .collective = collective, .stop = options.stop};
    if (options.found)
      question.found = [&](const std::vector<ComposedPoint>& points) { options.found(with(points)); };
    whole = with(options.outline.empty() ? compose_on(question, divisions)
                                         : compose(question, options.outline, "--outline"));
    // The bound on rounds last: it may take longer than the composition, which `found` has reported by then.
    for (Claim& claim : bounds.claims(chunks))
      if (excludes_more(whole.result.claims, claim)) whole.result.claims.push_back(std::move(claim));
    mark_verified(whole.result);
    whole.outlines.clear();
    for (const Point& point : whole.result.points) whole.outlines.push_back(outlines.at(key_of(point.cost)));
    if (options.found) options.found(whole);
  }
  return whole;
}

}  // namespace chorale
