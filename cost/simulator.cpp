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

#include <algorithm>
#include <bit>
#include <cassert>

#include "cost/group_traffic.h"
#include "ir/switch_gain.h"

namespace chorale {
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
