// Inputs by name or file are completed and checked here: machines without switches, collectives in which
// every chunk can arrive, and, if a result is to be shown or run, schedules that do what the result states.
#include "api/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>

#include "api/machines.h"
#include "bounds/lower_bounds.h"
#include "construct/baselines/classic.h"
#include "construct/fixed_order.h"
#include "ir/agreement.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/group_collective.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/number_in.h"
#include "ir/outline.h"
#include "ir/ranking.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "semantics/verify.h"
#include "semantics/verify_routes.h"
#include "topology/builders.h"
#include "topology/changes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Texts become lists of ranks and of counts, and all checks on them are here, once, against the machine and
// against each other; limits on the size of a question are in ir/group_collective.cpp.
//
// Names of groups come from the description of the machine, not from its links: sides of a grid, hosts,
// levels. A machine without some of its ranks has the same groups, without these ranks.

using Groups = std::vector<std::vector<Rank>>;
using Rows = std::vector<std::vector<int>>;

constexpr int kMostCount = 1'000'000;
constexpr std::size_t kMostCounts = 1'000'000;

// Spaces have no meaning: "0, 1; 2, 3" is "0,1;2,3". Two separators in succession leave an empty part, which
// callers refuse as a lacking number.
std::vector<std::string> parts_of(std::string text, char separator) {
  std::erase(text, ' ');
  return split(text, separator);
}

std::vector<Rank> ranks_in(const std::string& option, const std::string& text, const Topology& topology) {
  std::vector<Rank> group;
  for (const std::string& each : parts_of(text, ',')) {
    const std::optional<int> n = number_in<int>(each);
    if (!n || *n < 0 || *n >= topology.ranks)
      throw InputError(option,
                       each.empty()
                           ? "'" + text.substr(0, 40) + "' lacks a rank"
                           : fmt::format("'{}' is not a rank of {}", each.substr(0, 40), topology.name),
                       fmt::format("use 0 to {}, with commas between", topology.ranks - 1));
    if (std::ranges::find(group, *n) != group.end())
      throw InputError(option, fmt::format("names rank {} twice", *n), "name each rank once");
    group.push_back(*n);
  }
  return group;
}

// Ranks of one host, and those at one position of each host.
Groups by_host(const std::vector<int>& hosts, bool rails) {
  std::map<int, std::vector<Rank>> boxes, across;
  for (Rank n = 0; n < std::ssize(hosts); ++n) {
    std::vector<Rank>& box = boxes[hosts[n]];
    across[static_cast<int>(box.size())].push_back(n);
    box.push_back(n);
  }
  Groups groups;
  for (auto& [number, group] : rails ? across : boxes) groups.push_back(std::move(group));
  return groups;
}

using NamedGroups = std::map<std::string, Groups>;

// A level never replaces a name that is there. "boxes" are the groups of the innermost level and "rails"
// the ranks at one position of each box, where no hosts are known. Levels of a grid give neither: its rows
// are no closer than its columns.
void add_levels(const Nesting& nested, bool boxes, NamedGroups& known) {
  const int levels = static_cast<int>(nested.names.size());
  for (int j = 0; j < levels; ++j) known.emplace(nested.names[j], groups_at(nested, {j}));
  if (!boxes || levels < 2 || known.contains("boxes")) return;
  std::vector<int> outer(levels - 1);
  std::iota(outer.begin(), outer.end(), 0);
  known["boxes"] = groups_at(nested, {levels - 1});
  known["rails"] = groups_at(nested, outer);
}

// The groups of a machine that have names.
NamedGroups named_groups(const std::string& spec) {
  NamedGroups known;
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  const bool grid = colon != std::string::npos && (kind == "mesh" || kind == "torus");
  if (grid)
    if (const std::vector<int> sides = spec_sizes("topology " + spec, spec.substr(colon + 1));
        sides.size() == 2) {
      // Rank = row x columns + column, so the ranks of a row differ in the last digit alone.
      const Nesting nested{.names = {"column", "row"}, .fan_outs = sides};
      known["row"] = groups_at(nested, {1});
      known["column"] = groups_at(nested, {0});
    }
  if (const std::vector<int> hosts = hosts_of(spec); !hosts.empty()) {
    known["boxes"] = by_host(hosts, false);
    known["rails"] = by_host(hosts, true);
  }
  if (const std::optional<Nesting> nested = nesting_if_any(spec)) add_levels(*nested, !grid, known);
  return known;
}

// "rows" is as good as "row".
std::string usual(const std::string& name) {
  static const std::map<std::string, std::string> others = {
      {"rows", "row"}, {"columns", "column"}, {"box", "boxes"}, {"rail", "rails"}};
  const auto at = others.find(name);
  return at == others.end() ? name : at->second;
}

// One of them, in words: "row", "box".
std::string singular(const std::string& name) {
  return name == "boxes" ? "box" : name == "rails" ? "rail" : name;
}

// Removed ranks are left out, and those after them have moved up.
Groups without(const Groups& groups, const std::vector<Rank>& missing) {
  Groups left;
  for (const std::vector<Rank>& group : groups) {
    std::vector<Rank> members;
    for (const Rank n : group) {
      // Each removed rank below n moves it down by one.
      const auto before = std::ranges::lower_bound(missing, n);
      if (before == missing.end() || *before != n)
        members.push_back(n - static_cast<Rank>(before - missing.begin()));
    }
    if (!members.empty()) left.push_back(std::move(members));
  }
  return left;
}

// Named groups hold every rank, of the machine that has the name.
int members(const Groups& groups) {
  std::size_t all = 0;
  for (const std::vector<Rank>& group : groups) all += group.size();
  return static_cast<int>(all);
}

Groups groups_named(const std::string& name, const Topology& topology, const CollectiveOptions& options) {
  const std::string& spec = options.machine.empty() ? topology.name : options.machine;
  std::vector<std::string> known;
  if (is_machine(spec)) {
    const NamedGroups named = named_groups(spec);
    if (const auto groups = named.find(usual(name)); groups != named.end()) {
      Groups left = without(groups->second, ranks_gone(spec, options.changes));
      // A machine that was changed in another manner has other ranks than the name stands for: it is refused.
      if (members(left) == topology.ranks) return left;
    } else {
      for (const auto& [each, groups_of_it] : named) known.push_back(each);
    }
  }
  throw InputError(
      "--groups", "'" + name.substr(0, 60) + "' is not a kind of group of " + spec.substr(0, 60),
      did_you_mean(name, known,
                   known.empty() ? "it has none with a name: give ranks, such as '0,1;2,3'"
                                 : "use one of " + joined(known) + ", or ranks, such as '0,1;2,3'"));
}

// Lists of ranks have no letters.
bool is_name(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

Groups groups_in(const Topology& topology, const CollectiveOptions& options) {
  const std::string& text = options.groups;
  if (is_name(text)) return groups_named(text, topology, options);
  Groups groups;
  std::vector<bool> taken(topology.ranks, false);
  for (const std::string& each : parts_of(text, ';')) {
    groups.push_back(ranks_in("--groups", each, topology));
    for (const Rank n : groups.back()) {
      if (taken[n])
        throw InputError("--groups", fmt::format("rank {} is in two groups", n), "name each rank once");
      taken[n] = true;
    }
  }
  return groups;
}

// One row per group; of alltoallv one row per source.
Rows rows_in(const std::string& text) {
  Rows rows;
  std::size_t all = 0;
  for (const std::string& row : parts_of(text, ';')) {
    rows.emplace_back();
    for (const std::string& each : parts_of(row, ',')) {
      const std::optional<int> count = number_in<int>(each);
      if (!count || *count < 0 || *count > kMostCount)
        throw InputError("--counts",
                         each.empty() ? "'" + row.substr(0, 40) + "' lacks a count"
                                      : "'" + each.substr(0, 40) + "' is not a count of chunks",
                         fmt::format("use 0 to {}, with commas between", kMostCount));
      rows.back().push_back(*count);
    }
    all += rows.back().size();
    if (all > kMostCounts) throw InputError("--counts", "are too many", "a million are the most");
  }
  return rows;
}

// [1, 2, 3] is one row, [[1, 2], [3, 4]] is two.
Rows rows_of_file(const std::string& file) {
  const JsonReader json = parse_json(read_file(file), file);
  const auto counts = [](const JsonReader& row) { return row.integers(kMostCounts, 0, kMostCount); };
  if (json.size(kMostCounts) == 0) json.fail("is empty", "list a count for each rank");
  if (!json.at(0).is_array()) return {counts(json)};
  Rows rows;
  std::size_t all = 0;
  for (const JsonReader& row : json.elements(kMostCounts)) {
    rows.push_back(counts(row));
    all += rows.back().size();
    if (all > kMostCounts) json.fail("has too many counts", "a million are the most");
  }
  return rows;
}

// By group, the rows of a matrix one after the other. A value that is given once is for all groups. An
// alltoallv has a row for each source (`pairs`), every other kind one row for each group.
Rows counts_of(CollectiveKind kind, const Groups& groups, const std::string& text) {
  const Rows given = names_a_file(text) ? rows_of_file(text) : rows_in(text);
  const bool pairs = row_of(kind).before == Participants::Each && row_of(kind).after == Participants::Each;
  const std::size_t once = pairs ? groups.front().size() : 1;
  std::size_t all = 0;
  for (const std::vector<Rank>& group : groups) all += pairs ? group.size() : 1;
  if (given.size() != once && given.size() != all)
    throw InputError("--counts", fmt::format("have {}", counted(std::ssize(given), "row")),
                     pairs ? fmt::format("give a row for each of {} sources, with ';' between", all)
                           : fmt::format("give one for all groups, or {}, one a group", all));
  Rows counts;
  std::size_t at = 0;
  for (const std::vector<Rank>& group : groups) {
    if (given.size() == once) at = 0;
    counts.emplace_back();
    for (std::size_t row = 0; row < (pairs ? group.size() : 1); ++row, ++at) {
      if (at >= given.size() || given[at].size() != group.size())
        throw InputError("--counts",
                         at < given.size()
                             ? fmt::format("row {} has {}", at, counted(std::ssize(given[at]), "count"))
                             : "have no row for each rank of a group",
                         fmt::format("give {}: one for each rank of the group", group.size()));
      counts.back().insert(counts.back().end(), given[at].begin(), given[at].end());
    }
  }
  return counts;
}

// "allgatherv" requires counts, and counts require such a name: neither is guessed from the other.
CollectiveKind kind_asked(const std::string& name, const std::string& counts) {
  if (const std::optional<CollectiveKind> kind = kind_with_counts(name)) {
    if (counts.empty())
      throw InputError("collective " + name, "has a count of chunks for each rank",
                       "add --counts, such as 3,1,0,2");
    return *kind;
  }
  const CollectiveKind kind = known_kind(name);
  if (!counts.empty())
    throw InputError(
        "--counts", "are for " + joined(counted_names()),
        row_of(kind).counted.empty() ? "leave them out" : "use " + std::string(row_of(kind).counted));
  return kind;
}

// Its number in each group, so it has to exist in the smallest one.
int root_of(const GroupQuestion& asked, const std::string& name, const CollectiveOptions& options) {
  if (!options.root) return 0;
  if (!is_rooted(asked.kind)) throw InputError("--root", name + " has no root", "leave it out");
  std::size_t least = asked.groups.front().size();
  for (const std::vector<Rank>& group : asked.groups) least = std::min(least, group.size());
  const Rank root = *options.root;
  if (root >= 0 && root < static_cast<Rank>(least)) return root;
  if (options.group.empty() && options.groups.empty())
    throw InputError("collective " + name, fmt::format("root {} is not a rank", root),
                     fmt::format("use 0 to {}", least - 1));
  throw InputError("--root", fmt::format("root {} is not a rank of a group of {}", root, least),
                   fmt::format("it counts within the group: use 0 to {}", least - 1));
}

// Is any of the groups or counts given?
bool names_groups(const CollectiveOptions& options) {
  return !options.group.empty() || !options.groups.empty() || !options.counts.empty();
}

// A kind by name ("allgather"), or one with counts ("allgatherv"), over the groups that the options name, or
// over all ranks. Throws InputError.
GroupQuestion group_question(const std::string& collective, const Topology& topology,
                             const CollectiveOptions& options) {
  GroupQuestion asked{.kind = kind_asked(collective, options.counts)};
  if (!options.group.empty() && !options.groups.empty())
    throw InputError("--groups", "and --group are given", "give one of them");
  if (!options.group.empty()) {
    asked.groups = {ranks_in("--group", options.group, topology)};
  } else if (!options.groups.empty()) {
    asked.groups = groups_in(topology, options);
    if (is_name(options.groups)) asked.groups_name = singular(usual(options.groups));
  } else {
    const RankSet all = RankSet::all(topology.ranks);
    asked.groups = {{all.begin(), all.end()}};
  }
  asked.root = root_of(asked, collective, options);
  if (!options.counts.empty()) asked.counts = counts_of(asked.kind, asked.groups, options.counts);
  return asked;
}

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

// Sums for one destination each, made there of the copies of all contributions.
Collective copied(const Collective& sums) {
  Collective copies = sums;
  copies.kind = CollectiveKind::Custom;
  copies.custom_name = name_of(sums) + "_once";
  copies.root = 0;
  copies.combining = false;
  copies.chunks.clear();
  for (const ChunkSpec& spec : sums.chunks)
    for (const Rank n : spec.pre)
      copies.chunks.push_back({.pre = {n}, .post = spec.post, .input = spec.input, .output = spec.output});
  return copies;
}

// Where no partial sum travels, sums for one destination each are copies: a ReduceScatter is an Alltoall
// whose chunks are added up at the end. A switch that adds what passes it makes a partial sum.
Collective at_once(const Topology& topology, const Collective& collective) {
  if (abilities_of(topology).reduce)
    throw InputError(
        "--sum",
        fmt::format("once has no partial sum travel, and switches of {} add what passes", topology.name),
        "add --switches-forward-only");
  return collective.combining &&
                 std::ranges::all_of(collective.chunks,
                                     [](const ChunkSpec& spec) { return spec.post.size() == 1; })
             ? copied(collective)
             : collective;
}

// "fixed" stands for a tree that suits this machine, so on another machine it is another order of additions.
Collective in_order(const Topology& topology, Collective collective, const std::string& order) {
  if (order.empty()) return collective;
  if (!adds(collective))
    throw InputError(order == "once" ? "--sum" : "--order",
                     "is of sums, and " + name_of(collective) + " has none", "leave it out");
  collective.order =
      order == "fixed" ? SumOrder{.kind = SumOrder::Kind::Fixed, .tree = suitable_tree(topology, collective)}
                       : parse_sum_order(order, topology.ranks, "--order");
  return adds_once(collective) ? at_once(topology, collective) : collective;
}

}  // namespace

Machine machine(const std::string& spec_or_file, const MachineChanges& changes) {
  return machine_of(load_topology(spec_or_file, changes));
}

Machine machine(const Topology& described, const MachineChanges& changes) {
  return machine_of(changed(described, changes));
}

// Of a name the options choose groups, root and counts. A file states all of these itself, so such options
// beside one are refused, not ignored. The order of sums applies to both.
Collective collective(const std::string& name_or_file, const Topology& topology,
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
  if (std::ranges::any_of(collective.chunks, &ChunkSpec::summed))
    throw InputError(name_or_file, "has sums that go on as chunks, for which nothing is searched",
                     "ask for an allreduce with --sum once");
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
