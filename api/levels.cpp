// Levels come from the description of a machine if it has two or more of size above one, and else from its
// graph (construct/composition.h, nestings): equal connected parts, joined alike.
#include "api/levels.h"

#include <algorithm>
#include <limits>

#include "construct/composition.h"
#include "ir/error.h"
#include "ir/hierarchy.h"
#include "topology/changes.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {

std::optional<Nesting> nesting_if_any(const std::string& spec_or_file, const MachineChanges& changes) {
  Nesting named;
  if (const Levels levels = load_levels(spec_or_file, changes); levels.hierarchy)
    for (const Level& level : levels.hierarchy->levels)
      // A level of one child divides nothing.
      if (level.fan_out > 1) {
        named.names.push_back(level.name);
        named.fan_outs.push_back(level.fan_out);
      }
  if (named.names.size() > 1) return named;
  const std::vector<Nesting> found = nestings(flatten(load_topology(spec_or_file, changes)));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Nesting nesting(const std::string& spec_or_file, const MachineChanges& changes) {
  std::optional<Nesting> found = nesting_if_any(spec_or_file, changes);
  if (!found)
    throw InputError("machine " + spec_or_file, "is not divided into equal groups, each joined inside",
                     "use one with levels ('chorale hierarchy list'), or 'chorale frontier'");
  return std::move(*found);
}

std::vector<Rank> ranks_gone(const MachineChanges& changes) {
  std::vector<Rank> gone;
  for (const std::string& each : changes.without_ranks) gone.push_back(std::stoi(each));
  std::ranges::sort(gone);
  gone.erase(std::ranges::unique(gone).begin(), gone.end());
  return gone;
}

// A failed link changes no host; of a failed rank, that of the rank goes.
std::vector<int> hosts_of(const std::string& spec) {
  if (const NamedChanges named = split_failure(spec); !named.failure.empty()) {
    std::vector<int> hosts = hosts_of(named.machine);
    // A name has one failure (topology/changes.h), so no earlier one has shifted this index.
    for (const Rank rank : ranks_gone(named.changes))
      if (!hosts.empty()) hosts.erase(hosts.begin() + rank);
    return hosts;
  }
  const Levels levels = load_levels(spec);
  if (!levels.hierarchy || levels.hierarchy->node_level == 0) return {};
  // A node is a host if links inside it have less latency than every level outside: then messages between
  // ranks of different hosts are the ones that cost. Without such a difference nothing is known of hosts.
  double outside = std::numeric_limits<double>::infinity(), inside = 0;
  int of_a_node = 1;
  for (int j = 0; j < std::ssize(levels.hierarchy->levels); ++j) {
    const Level& level = levels.hierarchy->levels[j];
    if (j < levels.hierarchy->node_level) {
      outside = std::min(outside, level.link.latency_us);
    } else {
      inside = std::max(inside, level.link.latency_us);
      of_a_node *= level.fan_out;
    }
  }
  if (inside >= outside) return {};
  // Devices are numbered node by node.
  std::vector<int> hosts(devices(*levels.hierarchy));
  for (std::size_t n = 0; n < hosts.size(); ++n) hosts[n] = static_cast<int>(n) / of_a_node;
  return hosts;
}

}  // namespace chorale
