// Two views of one machine: levels (ir/hierarchy.h), as placements see it, and a graph of ranks and links
// (ir/topology.h), as schedules do.
//
// From levels to a graph: what is one flow there is one link here. Two devices are separated at the outermost
// level at which they differ, and the path between them takes, at that level, a port of either child, or a
// ring link, or the detour or the host; at the levels inside of it, on either side, the exit (or the host),
// or a port if there is none. A link is as fast as the slowest of these, and as `stream_gbs` allows; what
// several links take is a shared limit over them, unless other limits imply it. In a ring only neighbours are
// linked, unless there is a detour or a host: a rank between them can pass on what it received, which is a
// step of its own. The alpha of a link is the latency of the level that separates its ends. Ranks are
// numbered as devices are.
//
// One unit of bandwidth is the largest of which all rates are multiples, so the graph has every rate exactly.
//
// From a graph to levels: those of which it is the graph, if there are any. Nothing is fitted.
#pragma once

#include <optional>
#include <string>

#include "ir/hierarchy.h"
#include "ir/topology.h"

namespace chorale {

// Throws InputError where the graph would be too large (4096 ranks, a million links), and where no unit
// divides all rates into at most a million parts.
Topology graph_of(const Hierarchy&);

struct Levels {
  std::optional<Hierarchy> hierarchy = {};
  bool by_cuts = false;       // of a machine whose graph is not exactly theirs (topology/cuts_to_levels.h)
  std::string why_none = {};  // in a sentence that begins with the machine: "has ..."
};

// The fewest levels of which this is the graph: fan-outs are 2 or more (but for a single rank's), and what
// nothing can be slowed down by is as fast as what it carries. Of an outer level only, `exit` is absent.
// Levels are named by what their children are: rank, node, rack, pod. Requires no switches. `work`: links
// examined, once for each level, until the search gives up: a guess takes a few times the number of links,
// and an even machine is found by one of the first, but for 1,000 ranks that are all linked except for one
// limit, guesses could go on for hours.
inline constexpr long long kMostLevelWork = 20'000'000, kQuickLevelWork = 1'000'000;
Levels levels_of(const Topology&, long long work = kMostLevelWork);

}  // namespace chorale
