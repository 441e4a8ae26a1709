// Inputs by name or file are completed and checked here: machines without switches, collectives in which
// every chunk can arrive, and, if a result is to be shown or run, schedules that do what the result states.
#include "api/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/asked_groups.h"
#include "bounds/lower_bounds.h"
#include "construct/classic.h"
#include "construct/fixed_order.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/ranking.h"
#include "ir/sizes.h"
#include "semantics/verify.h"
#include "semantics/verify_routes.h"
#include "topology/changes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

Collective reachable(const Topology& topology, Collective collective) {
  // Throws if a chunk has no path to its destination.
  fewest_steps(topology.switches > 0 ? flatten(topology) : topology, collective);
  return collective;
}

Result result_of(const std::string& text, const std::string& name) {
  if (is_ranking(text))
    throw InputError(name, "is a ranking of placements, not a result",
                     "see it by 'chorale show', run it by 'chorale place ... --emit DIR'");
  return result_from_json(text, name);
}

// A point may state more than a collective can have.
Collective asked_with_chunks(const Result& result, int chunks, const std::string& where) {
  if (const std::string why = excess(result.collective, result.collective.kind, chunks); !why.empty())
    throw InputError(where + ".chunks", why);
  return with_chunks(result.collective, chunks);
}

// "fixed" stands for a tree that suits this machine, so on another machine it is another order of additions.
Collective in_order(const Topology& topology, Collective collective, const std::string& order) {
  if (order.empty()) return collective;
  if (!adds(collective))
    throw InputError("--order", "is of sums, and " + name_of(collective) + " has none", "leave it out");
  collective.order =
      order == "fixed" ? SumOrder{.kind = SumOrder::Kind::Fixed, .tree = suitable_tree(topology, collective)}
                       : parse_sum_order(order, topology.ranks, "--order");
  return collective;
}

}  // namespace

Topology machine(const std::string& spec_or_file, const MachineChanges& changes) {
  return flatten(load_topology(spec_or_file, changes));
}

Topology machine(const Topology& described, const MachineChanges& changes) {
  return flatten(changed(described, changes));
}

// Of a name the options choose groups, root and counts. A file states all of these itself, so such options
// beside one are refused, not ignored. The order of sums applies to both.
Collective communication(const std::string& name_or_file, const Topology& topology,
                         const CollectiveOptions& options) {
  if (!names_a_file(name_or_file))
    return in_order(
        topology,
        reachable(topology, make_collective(group_question(name_or_file, topology, options), topology.ranks)),
        options.order);
  if (options.root)
    throw InputError("--root", "is for collectives that are named", "give the root in " + name_or_file);
  if (names_groups(options))
    throw InputError(options.counts.empty() ? "--group" : "--counts", "is for collectives that are named",
                     "list the chunks of each rank in " + name_or_file);
  Collective collective = collective_from_json(read_file(name_or_file), name_or_file, topology.ranks);
  // The number of chunks that a search cuts a block into is part of its result, and of its cost.
  if (collective.chunks_per_block != 1)
    throw InputError(name_or_file, fmt::format("cuts a block into {} chunks", collective.chunks_per_block),
                     is_custom(collective)
                         ? "list a block as one chunk; the command's options cut it into more"
                         : "leave 'chunks' out; the command's options cut it into more");
  return in_order(topology, reachable(topology, std::move(collective)), options.order);
}

const std::vector<CatalogueEntry>& known_machines() {
  return machine_catalogue();
}

// A family of machines has levels if its example has; the examples are loaded once.
const std::vector<CatalogueEntry>& known_hierarchies() {
  static const std::vector<CatalogueEntry> known = [] {
    std::vector<CatalogueEntry> with_levels;
    std::ranges::copy_if(
        machine_catalogue(), std::back_inserter(with_levels),
        [](const CatalogueEntry& entry) { return load_levels(entry.example).hierarchy.has_value(); });
    return with_levels;
  }();
  return known;
}

const std::vector<ClassicEntry>& known_classics() {
  return classic_catalogue();
}

Result read_result(const std::string& file) {
  return result_of(read_file(file), file);
}

Result read_sound_result(const std::string& file) {
  return sound_result(read_file(file), file);
}

// Routes first: points are verified over links, and a link stands for its route. One fault is enough to
// refuse a result, so the search for faults ends at the first.
Result sound_result(const std::string& text, const std::string& name) {
  Result result = result_of(text, name);
  if (const std::vector<Fault> wrong = route_faults(result.topology, 1); !wrong.empty())
    throw InputError(name + ": topology", wrong.front().words, "make the result again");
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const Point& point = result.points[i];
    const std::string where = fmt::format("{}: points[{}]", name, i);
    const std::vector<Fault> wrong =
        violations(result.topology, asked_with_chunks(result, point.cost.chunks, where), point, 1);
    if (!wrong.empty()) throw InputError(where, wrong.front().words, "make the result again");
  }
  return result;
}

}  // namespace chorale
