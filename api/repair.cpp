// An AllReduce of two phases is patched phase by phase, and the phases are the start of a search: it composes
// them itself, also with others.
#include "construct/repair.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/search.h"
#include "ir/error.h"
#include "ir/frontier.h"

namespace chorale {
namespace {

// What is patched by itself: a ReduceScatter and an Allgather, if it consists of these.
// A point that was gathered (each rank's vector to all, added up there) is patched as its Allgather.
std::vector<Phase> parts_of(const Point& point) {
  if (point.method == Method::Gathered)
    return {{of_kind(point.collective, CollectiveKind::Allgather, point.cost.chunks), point.schedule}};
  if (point.method != Method::Composed) return {{point.collective, point.schedule}};
  const auto [scatter, gather] = phases(point);
  return {scatter, gather};
}

Collective on_ranks_left(const Collective& before, const Collective& asked) {
  if (before.kind == CollectiveKind::Custom) return with_chunks(asked, before.chunks_per_block);
  return of_kind(asked, before.kind, before.chunks_per_block);
}

// Ranks after those that are gone have moved up, and the root with them.
void require_same_question(const Result& old, const Topology& now, const std::vector<Rank>& gone,
                           const Collective& asked) {
  if (old.topology.ranks != now.ranks + std::ssize(gone))
    throw InputError("--repair",
                     fmt::format("the result is for a machine of {} ranks, and this one had {}",
                                 old.topology.ranks, now.ranks + std::ssize(gone)),
                     "give a result for the machine before its failures");
  if (old.collective.kind != asked.kind || old.collective.custom_name != asked.custom_name)
    throw InputError("--repair", "the result is of " + name_of(old.collective),
                     "give one of " + name_of(asked));
  if (is_custom(asked) && !gone.empty())
    throw InputError("--repair", "of a custom collective it is not known which chunks belong to a rank",
                     "leave --repair out");
  if (!is_rooted(asked.kind)) return;
  const auto before = std::ranges::lower_bound(gone, old.collective.root) - gone.begin();
  if (std::ranges::binary_search(gone, old.collective.root))
    throw InputError("--repair", "the root of the result is gone", "leave --repair out, and choose a --root");
  if (old.collective.root - before != asked.root)
    throw InputError("--repair", fmt::format("the result has root {}", old.collective.root),
                     fmt::format("use --root {}", old.collective.root - before));
}

}  // namespace

// A phase that cannot be patched makes no joint cost, but what the others became still helps the search.
Repair repair(const Result& old, const std::string& spec_or_file, const MachineChanges& changes,
              const Collective& asked, const std::atomic<bool>* stop) {
  const Topology now = machine(spec_or_file, changes);
  const std::vector<Rank> gone = ranks_gone(spec_or_file, changes);
  require_same_question(old, now, gone, asked);
  Repair repair;
  bool first = true;
  for (const Point& point : old.points) {
    if (!point.on_frontier) continue;
    if (first || compare_rate(point.cost, repair.before) < 0) repair.before = point.cost;
    first = false;
    // Of the phases, the one with the fewest rounds each, which is the last (Patched::schedules); their joint
    // cost. A composed AllReduce has a phase's chunks for every rank's part of the block.
    std::optional<Cost> together = Cost{.chunks = 0};
    for (const Phase& part : parts_of(point)) {
      const Collective wanted = on_ranks_left(part.collective, asked);
      const Patched made = patched({old.topology, part.collective}, part.schedule,
                                   moves_without(gone, part.collective), {now, wanted}, stop);
      repair.sends += made.sends;
      repair.lost += made.lost;
      for (const Schedule& schedule : made.schedules) {
        Point fresh{.method = Method::Patched,
                    .construction = point.construction,
                    .collective = wanted,
                    .schedule = schedule};
        fresh.cost = cost_of(schedule, wanted.chunks_per_block);
        repair.known.push_back(std::move(fresh));
      }
      if (made.schedules.empty())
        together.reset();
      else if (together)
        together = Cost{.steps = together->steps + repair.known.back().cost.steps,
                        .rounds = together->rounds + repair.known.back().cost.rounds,
                        .chunks = point.method == Method::Composed ? now.ranks * wanted.chunks_per_block
                                                                   : wanted.chunks_per_block};
    }
    if (together && (!repair.patched || compare_rate(*together, *repair.patched) < 0))
      repair.patched = together;
  }
  if (first)
    throw InputError("--repair", "the result has no schedules", "make it again, or leave --repair out");
  return repair;
}

// Chunks by rounds, in units of what a round carries over a link of bandwidth 1.
double rate_gbs(const Topology& topology, const Cost& cost) {
  return 1e-3 * cost.chunks / (cost.rounds * round_beta_us_per_byte(topology));
}

}  // namespace chorale
