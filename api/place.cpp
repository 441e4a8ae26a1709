// The API of placement/: machines with levels, rankings and their checks, and the first placement as files. A
// part of a machine is made by shrinking levels from the outermost on.
#include "api/place.h"

#include <fmt/format.h>

#include "codegen/strategy_source.h"
#include "ir/error.h"
#include "placement/check_ranking.h"
#include "placement/place.h"
#include "placement/present.h"
#include "placement/synthesis_hierarchy.h"
#include "topology/machines.h"

namespace chorale {

Hierarchy hierarchy(const std::string& spec_or_file, const MachineChanges& changes) {
  return load_hierarchy(spec_or_file, changes);
}

namespace {

// If the synthesis hierarchy permits no strategy for any placement, the option is at fault: an empty ranking
// would look like a machine without placements.
Ranking with_a_strategy(Ranking ranking) {
  if (ranking.best.empty() && ranking.matrices > 0 && ranking.without_strategy == ranking.matrices)
    throw InputError(
        "--synthesis", fmt::format("over the hierarchy '{}' no placement has a strategy", ranking.synthesis),
        ranking.synthesis == name_of(SynthesisKind::Rows) ? "use reduction" : "use rows or reduction");
  return ranking;
}

}  // namespace

Ranking place(const Hierarchy& hierarchy, const Job& job, const PlaceOptions& options) {
  return with_a_strategy(rank_placements(hierarchy, job, options));
}

Ranking place(const Hierarchy& hierarchy, const JobTemplate& job, const PlaceOptions& options) {
  return with_a_strategy(rank_sizes(hierarchy, job, options));
}

ParallelismMatrix present_placement(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                                    const std::string& text, const std::string& where) {
  return read_present(hierarchy, axes, text, where);
}

// The outermost level that the wanted devices fill in whole units keeps so many units, and levels above it
// keep one. A ring cannot be cut to fewer children: its ends would not be joined.
Hierarchy part_of(const Hierarchy& hierarchy, long long wanted) {
  Hierarchy part = hierarchy;
  for (std::size_t j = 0; j < part.levels.size(); ++j) {
    long long unit = 1;
    for (std::size_t k = j + 1; k < part.levels.size(); ++k) unit *= part.levels[k].fan_out;
    if (wanted >= unit && wanted % unit == 0 && wanted / unit <= part.levels[j].fan_out &&
        (wanted / unit == part.levels[j].fan_out || part.levels[j].link.shape == LinkModel::Shape::Switch)) {
      part.levels[j].fan_out = static_cast<int>(wanted / unit);
      return part;
    }
    part.levels[j].fan_out = 1;
  }
  throw InputError(
      "--devices",
      fmt::format("{} of {} do not fill whole units of {}", wanted, devices(hierarchy), hierarchy.name),
      "use a multiple of what a unit has, or 'all'");
}

Ranking read_ranking(const std::string& file) {
  return ranking_from_json(read_file(file), file);
}

// A check that stops before the first matrix verifies what is listed, and prices nothing again.
Ranking read_sound_ranking(const std::string& file) {
  Ranking ranking = read_ranking(file);
  const RankingReport report = check(ranking, [](int, int) { return false; });
  if (!report.faults.empty()) throw InputError(file, report.faults.front().words, "make the ranking again");
  return ranking;
}

RankingReport check(const Ranking& ranking, const std::function<bool(int done, int of)>& progress) {
  return check_ranking(ranking, progress);
}

// The devices of the mesh, its axes, and for each communication its groups and the steps of the best
// strategy.
std::vector<NamedText> emit_placement(const Ranking& ranking) {
  if (ranking.best.empty())
    throw InputError("--emit", "no placement was priced within the limits", "give more time");
  if (const long long all = devices(ranking.hierarchy); all > kMostListedDevices)
    throw InputError("--emit",
                     fmt::format("{} devices, and groups are listed for at most {}", all, kMostListedDevices),
                     "place the job on fewer");
  const RankedMatrix& best = ranking.best.front();
  PlacedJob job{.machine = ranking.hierarchy.name,
                .matrix = to_text(best.matrix),
                .axes = ranking.job.axes,
                .devices = devices_of_mesh(best.matrix)};
  // Levels from the node's inwards.
  for (std::size_t j = ranking.hierarchy.node_level; j < ranking.hierarchy.levels.size(); ++j)
    job.node_devices *= ranking.hierarchy.levels[j].fan_out;
  for (const ReductionRanking& each : best.reductions) {
    const Reduction& reduction = ranking.job.reductions[each.reduction];
    job.communications.push_back(
        {.reduction = reduction,
         .steps = each.strategies.empty() ? LoweredStrategy() : each.strategies.front().lowered,
         .groups = reduction_groups(best.matrix, reduction.axes)});
  }
  return handed_on(job);
}

}  // namespace chorale
