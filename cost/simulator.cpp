// Groups are never listed. The groups of an instruction are copies of one, moved by the positions that a
// reduction does not join, so a port carries the traffic of one group (cost/group_traffic.h) times the bytes
// of all groups that meet behind it: a product over levels. Operations at first positions of a level only
// (Reduce, Master) make two kinds of children, the first and the rest, and meetings() tries both at every
// level: 2^levels cases, whatever the machine's size. Tests compare it with a simulation that sends
// everything one by one.
//
// Time is latency plus the busiest link, as if all messages of a group were in flight throughout. So nothing
// is ordered, and a price is a maximum of sums.
#include "cost/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "ir/switch_gain.h"

namespace chorale {

// The bytes of a child are a weight of one group's traffic (cost/group_traffic.h) times the bytes of all
// groups that meet there: `first_bytes` for the child at the first place of its level, `rest_bytes` for any
// other. The two differ where groups are at first places only (Master), or keep other amounts there (after a
// Reduce).

// The paths of one level, by which loads of different instructions on the same path are added up
// (cost/overlap.h).
enum class LevelLoad::PathKind : int {
  PortOut,
  PortIn,
  ExitOut,
  ExitIn,
  Forward,
  Backward,
  Detour,
  HostUp,
  HostDown,
  SocketOut,
  SocketIn
};

// A path's number has the level, the kind and the index in it: unique for a hierarchy, whatever its splits
// are.
void LevelLoad::list(PathKind kind, int index, double bytes, double gbs) const {
  if (paths == nullptr || bytes <= 0) return;
  paths->push_back(
      {(static_cast<std::int64_t>(number) * 16 + static_cast<int>(kind)) << 32 | index, bytes / (gbs * 1e3)});
}

// The port of a member, at all positions of the group.
void LevelLoad::list_ports(PathKind kind, std::size_t member, double bytes) const {
  if (paths == nullptr) return;
  for (int base : split.bases)
    list(kind, base + split.members[member], bytes, level.link.bandwidth_gbs * level.link.ports);
}

void LevelLoad::port(double bytes, const char* direction) const {
  busiest.load(bytes, level.link.bandwidth_gbs * level.link.ports,
               [&] { return fmt::format("{} port {}", level.name, direction); });
}

// Bytes that leave from each member, or enter it, gathered by the path that consecutive children share.
void LevelLoad::exits(const std::vector<double>& leaving, const char* direction, PathKind kind) const {
  const SharedPath& path = *level.link.exit;
  std::vector<double> loads(level.fan_out / path.children + 1, 0.0);
  for (int base : split.bases)
    for (std::size_t d = 0; d < leaving.size(); ++d)
      loads[(base + split.members[d]) / path.children] += leaving[d];
  busiest.load(*std::max_element(loads.begin(), loads.end()), path.bandwidth_gbs,
               [&] { return fmt::format("{} exit {}", level.name, direction); });
  for (std::size_t block = 0; block < loads.size(); ++block)
    list(kind, static_cast<int>(block), loads[block], path.bandwidth_gbs);
}

// A host path has an uplink per few children (PCIe switches) and a path between sockets; both are shared
// in each direction.
void LevelLoad::through_host(const HostLoad& load) const {
  const auto add = [&](const std::vector<double>& loads, const SharedPath& path, PathKind kind,
                       const char* what) {
    for (std::size_t p = 0; p < loads.size(); ++p) {
      busiest.load(loads[p], path.bandwidth_gbs,
                   [&] { return fmt::format("{} {} {}", level.name, what, p); });
      list(kind, static_cast<int>(p), loads[p], path.bandwidth_gbs);
    }
  };
  add(load.up, load.host.uplink, PathKind::HostUp, "host up");
  add(load.down, load.host.uplink, PathKind::HostDown, "host down");
  add(load.out, load.host.socket, PathKind::SocketOut, "socket out");
  add(load.in, load.host.socket, PathKind::SocketIn, "socket in");
}

// The traffic that leaves each member for other units and enters it from them.
void LevelLoad::add_outside(HostLoad& host, const std::vector<double>& out,
                            const std::vector<double>& in) const {
  for (int base : split.bases)
    for (std::size_t d = 0; d < out.size(); ++d) {
      host.leave(base + split.members[d], out[d]);
      host.enter(base + split.members[d], in[d]);
    }
}

// Pairs of children on the level's ring. Neighbours use their link; others the host or the detour, or,
// without one, the shorter direction around the ring (ahead if both are as long), and then every link on
// it.
void LevelLoad::ring_links(const std::vector<LevelTraffic::Pair>& pairs,
                           std::optional<HostLoad>& host) const {
  const int n = level.fan_out;
  std::vector<double> forward(n, 0.0), backward(n, 0.0);  // from p to p+1, from p to p-1
  const auto& detour = level.link.detour;
  std::vector<double> detours(detour ? n / detour->children + 1 : 0, 0.0);
  for (int base : split.bases)
    for (const LevelTraffic::Pair& pair : pairs) {
      const int from = base + split.members[pair.from], to = base + split.members[pair.to];
      const int ahead = (to - from + n) % n, behind = n - ahead;
      if (ahead != 1 && behind != 1 && host) {
        host->send(from, to, pair.weight * first_bytes);
      } else if (ahead != 1 && behind != 1 && detour) {
        detours[from / detour->children] += pair.weight;
      } else if (ahead <= behind) {
        for (int p = from; p != to; p = (p + 1) % n) forward[p] += pair.weight;
      } else {
        for (int p = from; p != to; p = (p + n - 1) % n) backward[p] += pair.weight;
      }
    }
  for (int p = 0; p < n; ++p) {
    busiest.load(forward[p] * first_bytes, level.link.bandwidth_gbs,
                 [&] { return fmt::format("{} ring link {}->{}", level.name, p, (p + 1) % n); });
    busiest.load(backward[p] * first_bytes, level.link.bandwidth_gbs,
                 [&] { return fmt::format("{} ring link {}->{}", level.name, p, (p + n - 1) % n); });
    list(PathKind::Forward, p, forward[p] * first_bytes, level.link.bandwidth_gbs);
    list(PathKind::Backward, p, backward[p] * first_bytes, level.link.bandwidth_gbs);
  }
  for (std::size_t block = 0; block < detours.size(); ++block)
    list(PathKind::Detour, static_cast<int>(block), detours[block] * first_bytes, detour->bandwidth_gbs);
  for (double load : detours)
    busiest.load(load * first_bytes, detour->bandwidth_gbs, [&] { return level.name + " detour"; });
}

// A ring has no ports: pairs of children use its links, and what leaves the unit uses the host or the exit.
// On a switch each child's port carries all its traffic, or, where an exit takes what leaves, its own.
void LevelLoad::joined(const LevelTraffic& traffic, double devices_in_child) const {
  const LinkModel& link = level.link;
  if (link.shape == LinkModel::Shape::Ring) {
    std::optional<HostLoad> host;
    if (link.host) {
      host.emplace(*link.host, level.fan_out);
      add_outside(*host, scaled(traffic.leaving_out), scaled(traffic.leaving_in));
    }
    ring_links(traffic.pairs, host);
    if (host) through_host(*host);
  } else {
    for (std::size_t d = 0; d < traffic.all_out.size(); ++d) {
      const double out = (link.exit ? traffic.own_out[d] : traffic.all_out[d]) * first_bytes;
      const double in = (link.exit ? traffic.own_in[d] : traffic.all_in[d]) * first_bytes;
      port(out, "out");
      port(in, "in");
      list_ports(PathKind::PortOut, d, out);
      list_ports(PathKind::PortIn, d, in);
    }
  }
  if (link.exit) {
    exits(scaled(traffic.leaving_out), "out", PathKind::ExitOut);
    exits(scaled(traffic.leaving_in), "in", PathKind::ExitIn);
  }
  if (link.stream_gbs <= 0) return;
  // A group's flow is as many streams as it has devices in a child.
  for (const LevelTraffic::Pair& pair : traffic.pairs)
    busiest.load(pair.weight * stream_bytes, link.stream_gbs * devices_in_child,
                 [&] { return fmt::format("a single stream at {}", level.name); });
}

// The first of host, exit and ports that the level has. A ring with none of them models no way out, so
// nothing is loaded.
void LevelLoad::passed(double out, double in) const {
  if (level.link.host) {
    HostLoad host(*level.link.host, level.fan_out);
    add_outside(host, scaled(std::vector<double>(split.members.size(), out)),
                scaled(std::vector<double>(split.members.size(), in)));
    through_host(host);
  } else if (level.link.exit) {
    exits(scaled(std::vector<double>(split.members.size(), out)), "out", PathKind::ExitOut);
    exits(scaled(std::vector<double>(split.members.size(), in)), "in", PathKind::ExitIn);
  } else if (level.link.shape == LinkModel::Shape::Switch) {
    const double bytes = split.members.size() > 1 ? std::max(first_bytes, rest_bytes) : first_bytes;
    port(out * bytes, "out");
    port(in * bytes, "in");
    for (std::size_t d = 0; d < split.members.size() && paths != nullptr; ++d) {
      list_ports(PathKind::PortOut, d, out * (d == 0 ? first_bytes : rest_bytes));
      list_ports(PathKind::PortIn, d, in * (d == 0 ? first_bytes : rest_bytes));
    }
  }
}

std::vector<double> LevelLoad::scaled(std::vector<double> weights) const {
  for (std::size_t d = 0; d < weights.size(); ++d) weights[d] *= d == 0 ? first_bytes : rest_bytes;
  return weights;
}

namespace {

using Operation = StrategyInstruction::Operation;

// Bytes of all groups that meet in the busiest child of each level, by the child's own place there. Groups
// meet in a child if they are at its place at all levels down to it; of each kind of groups there are then as
// many as the levels inside have places for it. At a joined level all groups have devices in every child, so
// the first is like the rest.
struct Meeting {
  double first = 0, rest = 0;
};

// For levels of sizes (2, 8) where the reduction joins the outer one: 8 groups, one per inner position,
// each with a device in every outer child; in an outer child all 8 meet, at an inner child one.
std::vector<Meeting> meetings(const std::vector<LevelSplit>& splits, const std::vector<bool>& joined,
                              const std::vector<GroupLoad>& groups) {
  const int levels = static_cast<int>(splits.size());
  // Bytes of one kind of groups that meet in a child of level j.
  const auto inside = [&](const GroupLoad& group, int j) {
    double bytes = group.bytes;
    for (int m = levels - 1; m > j; --m) {
      bytes *= static_cast<double>(splits[m].bases.size());
      const double members = static_cast<double>(splits[m].members.size());
      if (joined[m] || group.places[m] == Place::First) continue;
      bytes *= group.places[m] == Place::All ? members : members - 1;
    }
    return bytes;
  };
  std::vector<Meeting> result(levels);
  for (int j = 0; j < levels; ++j)
    // Bit m of a choice: the child lies in the rest of level m, not in its first place.
    for (int choice = 0; choice < 1 << (j + 1); ++choice) {
      bool exists = true;
      for (int m = 0; m <= j; ++m)
        if (choice >> m & 1) exists = exists && !joined[m] && splits[m].members.size() > 1;
      if (!exists) continue;
      double bytes = 0;
      for (const GroupLoad& group : groups) {
        bool meets = true;
        for (int m = 0; m <= j; ++m)
          if (!joined[m] && group.places[m] != Place::All)
            meets = meets && (group.places[m] == Place::Rest) == ((choice >> m & 1) != 0);
        if (meets) bytes += inside(group, j);
      }
      double& most = choice >> j & 1 ? result[j].rest : result[j].first;
      most = std::max(most, bytes);
    }
  for (int j = 0; j < levels; ++j)
    if (joined[j]) result[j].rest = result[j].first;
  return result;
}

std::vector<int> joined_sizes(const std::vector<LevelSplit>& splits, const std::vector<bool>& joined) {
  std::vector<int> sizes;
  for (std::size_t j = 0; j < splits.size(); ++j)
    if (joined[j]) sizes.push_back(static_cast<int>(splits[j].members.size()));
  return sizes;
}

// The busiest port, link or path under the traffic of all groups; `share` of a device's bytes on an edge of
// weight 1.
// From the outermost level in. A level that the group is not split over is passed on the way out, if a
// level outside of it is joined; of the traffic there only the busiest child's crossing is known.
Busiest busiest_link(const Hierarchy& hierarchy, const std::vector<LevelSplit>& splits,
                     const std::vector<bool>& joined, const std::vector<GroupLoad>& groups,
                     const GroupTraffic& traffic, double share, std::vector<PathUse>* paths = nullptr) {
  const std::vector<Meeting> meeting = meetings(splits, joined, groups);
  double most = 0;
  for (const GroupLoad& group : groups) most = std::max(most, group.bytes);
  double devices = 1;  // of a group in a child
  for (std::size_t j = 0; j < splits.size(); ++j)
    if (joined[j]) devices *= static_cast<double>(splits[j].members.size());
  Busiest busiest;
  int seen = 0;  // joined levels so far
  for (std::size_t j = 0; j < splits.size(); ++j) {
    const LevelLoad load{hierarchy.levels[j], splits[j], share * meeting[j].first, share * meeting[j].rest,
                         share * most,        busiest,   static_cast<int>(j),      paths};
    if (joined[j]) {
      devices /= static_cast<double>(splits[j].members.size());
      load.joined(traffic[seen++], devices);
    } else if (seen > 0) {
      load.passed(traffic[seen - 1].crossing_out(), traffic[seen - 1].crossing_in());
    }
  }
  return busiest;
}

}  // namespace

Simulator::Simulator(const Hierarchy& hierarchy, std::vector<LevelSplit> splits)
    : hierarchy_(hierarchy), splits_(std::move(splits)) {
  assert(splits_.size() == hierarchy_.levels.size());
}

// Rings are 0 while there is no time yet. Of equal times the earlier possibility stays, which is the simpler
// one.
void Simulator::take_faster(Choice& so_far, const Pattern& pattern, double share, int rings,
                            const std::vector<bool>& joined, const std::vector<GroupLoad>& groups) const {
  const Busiest busiest = busiest_link(hierarchy_, splits_, joined, groups, traffic(joined, pattern), share);
  const double us = hierarchy_.call_us + so_far.time.latency_us + busiest.us;
  if (so_far.time.rings > 0 && us >= so_far.time.us * (1 - 1e-12)) return;
  so_far.time.us = us;
  so_far.time.binding = busiest.what;
  so_far.time.rings = rings;
  so_far.pattern = pattern;
  so_far.share = share;
}

// One ring, and several where that can help: rotated inside of children, where a child has several devices of
// the group, and in both directions, where the group's devices are on a ring of links. Several are cycles
// also for an operation that one chain would do.
std::vector<Simulator::Pattern> Simulator::rings(const std::vector<bool>& joined, Shape one) const {
  bool linked = false;  // devices of a group, in a ring
  for (std::size_t j = 0; j < splits_.size(); ++j)
    linked = linked || (joined[j] && hierarchy_.levels[j].link.shape == LinkModel::Shape::Ring);
  const bool nested = joined_sizes(splits_, joined).size() > 1;
  std::vector<Pattern> result = {{one, {}}};
  for (const Cycles& cycles : {Cycles{true, false}, Cycles{false, true}, Cycles{true, true}})
    if ((nested || !cycles.turned) && (linked || !cycles.bidirectional))
      result.push_back({Shape::Cycle, cycles});
  return result;
}

const GroupTraffic& Simulator::traffic(const std::vector<bool>& joined, const Pattern& pattern) const {
  const auto [at, added] = known_.try_emplace({joined, pattern});
  if (!added) return at->second;
  const std::vector<int> sizes = joined_sizes(splits_, joined);
  if (pattern.shape == Shape::AllToAll) return at->second = all_to_all_traffic(sizes);
  if (pattern.shape == Shape::Cycle || pattern.shape == Shape::InSwitch)
    return at->second = cycle_traffic(sizes, pattern.cycles);
  if (pattern.shape == Shape::Chain) return at->second = chain_traffic(sizes);
  if (pattern.shape == Shape::ChainBack) return at->second = chain_back_traffic(sizes);
  int outer = 0;
  bool pairs = false;  // are they examined?
  for (int j = 0; j < hierarchy_.node_level; ++j) {
    if (!joined[j]) continue;
    ++outer;
    const LinkModel& link = hierarchy_.levels[j].link;
    pairs = pairs || link.shape == LinkModel::Shape::Ring || link.stream_gbs > 0;
  }
  return at->second = tree_traffic(sizes, outer, pairs, pattern.cycles.turned);
}

Simulator::Choice Simulator::ring(Operation operation, const std::vector<bool>& joined,
                                  const std::vector<GroupLoad>& groups) const {
  const std::vector<int> sizes = joined_sizes(splits_, joined);
  double n = 1;
  for (int size : sizes) n *= size;
  const Shape shape = operation == Operation::Reduce      ? Shape::ChainBack
                      : operation == Operation::Broadcast ? Shape::Chain
                                                          : Shape::Cycle;
  const bool closed = shape == Shape::Cycle;
  // Round a ring, every message waits for the hops of the outermost level, which is taken to be the slowest.
  // Along a chain each hop counts once: of the outermost level as many as it has gaps, of the next as many in
  // each part, and so on.
  double share = 1, messages = 0;  // of b on each edge; one after the other, round the ring
  switch (operation) {
    case Operation::AllReduce:
      share = 2 * (n - 1) / n;
      messages = 2 * (n - 1);
      break;
    case Operation::ReduceScatter:
      share = (n - 1) / n;
      messages = n - 1;
      break;
    case Operation::AllGather:
      share = messages = n - 1;
      break;
    case Operation::Reduce:
    case Operation::Broadcast:
      break;
  }
  Choice result;
  bool outermost = true;
  double chains = 1;
  for (std::size_t j = 0; j < splits_.size(); ++j) {
    if (!joined[j]) continue;
    const double latency = hierarchy_.levels[j].link.latency_us;
    const double size = static_cast<double>(splits_[j].members.size());
    if (closed && outermost) result.time.latency_us = messages * latency;
    if (!closed) result.time.latency_us += chains * (size - 1) * latency;
    chains *= size;
    // A Reduce goes from the last back to the first, and not from the first to the next: one more hop of the
    // outermost level, and one less of the innermost one.
    if (shape == Shape::ChainBack && outermost) result.time.latency_us += latency;
    if (shape == Shape::ChainBack && chains == n) result.time.latency_us -= latency;
    outermost = false;
  }
  for (const Pattern& pattern : rings(joined, shape))
    take_faster(result, pattern, share, count(pattern.cycles, sizes), joined, groups);
  return result;
}

// NCCL's: chains inside of nodes, a double binary tree between them.
Simulator::Choice Simulator::tree(const std::vector<bool>& joined,
                                  const std::vector<GroupLoad>& groups) const {
  int outer = 0;
  unsigned nodes = 1;
  // Up and down: along the chains inside a node, and between nodes over as many hops as the tree is high,
  // each with the latency of the outermost level.
  double chain_us = 0, chains = 1, hop_us = 0;
  for (int j = 0; j < static_cast<int>(splits_.size()); ++j) {
    if (!joined[j]) continue;
    const LinkModel& link = hierarchy_.levels[j].link;
    const int size = static_cast<int>(splits_[j].members.size());
    if (j < hierarchy_.node_level) {
      if (outer++ == 0) hop_us = link.latency_us;
      nodes *= static_cast<unsigned>(size);
    } else {
      chain_us += chains * (size - 1) * link.latency_us;
      chains *= size;
    }
  }
  Choice result;
  result.time.latency_us = 2 * (chain_us + hop_us * static_cast<double>(std::bit_width(nodes - 1)));
  // Inside of one node there is nothing to leave.
  for (int turned = 0; turned < (outer > 0 && chains > 1 ? 2 : 1); ++turned) {
    const Pattern pattern{Shape::Tree, {turned != 0, false}};
    take_faster(result, pattern, 1, turned != 0 ? static_cast<int>(chains) : 1, joined, groups);
  }
  return result;
}

// One after the other: a sum to the owner of each part, and its copies.
Simulator::Choice Simulator::in_switch(const std::vector<bool>& joined,
                                       const std::vector<GroupLoad>& groups) const {
  Choice result;
  const auto level = std::ranges::find(joined, true) - joined.begin();
  const LinkModel& link = hierarchy_.levels[level].link;
  if (link.switch_gain == 0 || std::ranges::count(joined, true) != 1) return result;
  const auto n = static_cast<double>(splits_[level].members.size());
  result.time.latency_us = 2 * link.latency_us;
  take_faster(result, {Shape::InSwitch, {}},
              2 * (n - 1) / n / gain_of_ports(link.switch_gain, static_cast<int>(n)), 1, joined, groups);
  return result;
}

Simulator::Choice Simulator::best_choice(Goal goal, const std::vector<bool>& joined,
                                         const std::vector<GroupLoad>& groups) const {
  assert(goal == Goal::AllToAll || goal == Goal::Shift);
  double n = 1;
  for (int size : joined_sizes(splits_, joined)) n *= size;
  const bool all = goal == Goal::AllToAll;
  // Messages do not wait for each other, so the slowest counts once.
  Choice result;
  for (std::size_t j = 0; j < splits_.size(); ++j)
    if (joined[j])
      result.time.latency_us = std::max(result.time.latency_us, hierarchy_.levels[j].link.latency_us);
  take_faster(result, {all ? Shape::AllToAll : Shape::Chain, {}}, all ? 1 / n : 1, 1, joined, groups);
  return result;
}

// Only an AllReduce has a choice of algorithms; the others are done along rings and chains.
Simulator::Choice Simulator::best_choice(Operation operation, const std::vector<bool>& joined,
                                         const std::vector<GroupLoad>& groups, Algorithm algorithm) const {
  if (operation != Operation::AllReduce || algorithm == Algorithm::Ring)
    return ring(operation, joined, groups);
  Choice by_tree = tree(joined, groups);
  if (algorithm == Algorithm::Tree) return by_tree;
  Choice best = ring(operation, joined, groups);
  if (by_tree.time.us < best.time.us) best = std::move(by_tree);
  Choice by_switch = in_switch(joined, groups);
  return by_switch.time.rings > 0 && by_switch.time.us < best.time.us ? by_switch : best;
}

StepTime Simulator::named(Choice choice, bool shift) const {
  choice.time.latency_us += hierarchy_.call_us;
  switch (choice.pattern.shape) {
    case Shape::Cycle:
      choice.time.pattern = "ring";
      break;
    case Shape::Chain:
    case Shape::ChainBack:
      choice.time.pattern = shift ? "shift" : "chain";
      break;
    case Shape::Tree:
      choice.time.pattern = "tree";
      break;
    case Shape::AllToAll:
      choice.time.pattern = "all to all";
      break;
    case Shape::InSwitch:
      choice.time.pattern = "in switch";
      break;
  }
  return std::move(choice.time);
}

StepTime Simulator::time(Goal goal, const std::vector<bool>& joined,
                         const std::vector<GroupLoad>& groups) const {
  return named(best_choice(goal, joined, groups), goal == Goal::Shift);
}

StepTime Simulator::time(Operation operation, const std::vector<bool>& joined,
                         const std::vector<GroupLoad>& groups, Algorithm algorithm) const {
  return named(best_choice(operation, joined, groups, algorithm), false);
}

StepLoad Simulator::load(const Choice& way, const std::vector<bool>& joined,
                         const std::vector<GroupLoad>& groups) const {
  const double latency_us = hierarchy_.call_us + way.time.latency_us;
  StepLoad result{.latency_us = latency_us, .sending_us = way.time.us - latency_us};
  busiest_link(hierarchy_, splits_, joined, groups, traffic(joined, way.pattern), way.share, &result.paths);
  return result;
}

StepLoad Simulator::load(Operation operation, const std::vector<bool>& joined,
                         const std::vector<GroupLoad>& groups, Algorithm algorithm) const {
  return load(best_choice(operation, joined, groups, algorithm), joined, groups);
}

StepLoad Simulator::load(Goal goal, const std::vector<bool>& joined,
                         const std::vector<GroupLoad>& groups) const {
  return load(best_choice(goal, joined, groups), joined, groups);
}

}  // namespace chorale
