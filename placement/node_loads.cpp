// Counts of messages per uplink, changed by what one node adds or takes away: O(neighbours x height of the
// tree) for rings and lines, O(uplinks) for an exchange among all. A search tries millions of swaps, and
// counting anew would take O(nodes) for each.
//
// Only messages between nodes that are placed count, so partial orders have lower bounds of their times:
// what the exhaustive search prunes by.
#include "placement/node_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/error.h"

namespace chorale {

// Ranks are numbered along the mesh, the last axis fastest, and nodes take consecutive ranks: so the
// fastest axes lie inside of nodes, and what is left of each axis is the mesh of nodes. A node whose ranks
// are no box of the mesh (6 of 4 x 4) is refused: neighbours along an axis would be on different nodes for
// different ranks.
//
// Data 4 x tensor 4 in nodes of 8 ranks: a node has all of tensor and 2 of data, and the mesh of nodes is
// data 2.
//
// Communications of the same pattern over the same axes are added up, since they load the same links in
// the same proportion.

namespace {

// By axis: its factor inside of a node. The fastest axes fill it.
std::vector<int> factors_inside(const Job& job, int node_ranks) {
  std::vector<int> inside(job.axes.size(), 1);
  int rest = node_ranks;
  for (std::size_t a = job.axes.size(); a-- > 0 && rest > 1;) {
    const int size = job.axes[a].size, smaller = std::min(size, rest);
    if (size % smaller != 0 || rest % smaller != 0)
      throw InputError(
          "--node-ranks",
          fmt::format("{} ranks of a node do not fill a whole part of the mesh: {} of them meet the "
                      "axis {} of {}",
                      node_ranks, rest, job.axes[a].name, size),
          "choose sizes of axes that divide, the fastest axis last");
    inside[a] = smaller;
    rest /= smaller;
  }
  if (rest > 1)
    throw InputError("--node-ranks", fmt::format("the job has fewer than {} ranks", node_ranks),
                     "give the number of ranks per node");
  return inside;
}

// The nodes that differ in these axes only, in order.
// In mesh order, as a ring of NCCL follows it.
std::vector<std::vector<int>> groups_over(const NodeMesh& mesh, const std::vector<int>& axes) {
  std::map<int, std::vector<int>> groups;  // by the node whose coordinates in these axes are 0
  for (int node = 0; node < mesh.nodes; ++node) {
    int first = 0, stride = 1, left = node;
    for (std::size_t a = mesh.sizes.size(); a-- > 0; stride *= mesh.sizes[a], left /= mesh.sizes[a]) {
      const int at = left % mesh.sizes[a];
      if (std::ranges::find(axes, static_cast<int>(a)) == axes.end()) first += at * stride;
    }
    groups[first].push_back(node);
  }
  std::vector<std::vector<int>> all;
  for (auto& [first, group] : groups) all.push_back(std::move(group));
  return all;
}

GroupPattern pattern_of(Goal goal) {
  return goal == Goal::AllToAll ? GroupPattern::All
         : goal == Goal::Shift  ? GroupPattern::Line
                                : GroupPattern::Ring;
}

// Of one message from node to node. `inside` ranks of a group are in one node, of `ranks` in all, and
// `groups` groups meet in it.
// Rings over K ranks: 2 (K-1)/K of the bytes per edge for AllReduce, half of it for ReduceScatter and
// AllGather. All to all: each of `inside` ranks sends 1/K of its bytes to each of `inside` ranks of the
// other node. A shift sends everything.
double message_bytes(const Reduction& reduction, double ranks, double inside, double groups) {
  const double bytes = reduction.bytes * reduction.times * groups;
  switch (reduction.goal) {
    case Goal::AllReduce:
      return 2 * (ranks - 1) / ranks * bytes;
    case Goal::ReduceScatter:
    case Goal::AllGather:
      return (ranks - 1) / ranks * bytes;
    case Goal::AllToAll:
      return inside * inside * bytes / ranks;
    case Goal::Shift:
      return bytes;
  }
  return bytes;
}

}  // namespace

// What stays inside of nodes loads no link of a switch, and is left out.
NodeMesh node_mesh(const Job& job, int node_ranks) {
  if (overlaps(job))
    throw InputError(
        "--job", "has communications that run side by side",
        "leave out \"after\": an order of nodes is of a job whose communications run one after the other");
  const std::vector<int> inside = factors_inside(job, node_ranks);
  NodeMesh mesh;
  for (std::size_t a = 0; a < job.axes.size(); ++a) {
    mesh.sizes.push_back(job.axes[a].size / inside[a]);
    mesh.nodes *= mesh.sizes.back();
  }
  for (int r = 0; r < static_cast<int>(job.reductions.size()); ++r) {
    const Reduction& reduction = job.reductions[r];
    std::vector<int> axes;
    double ranks = 1, together = 1;
    for (const int a : reduction.axes) {
      ranks *= job.axes[a].size;
      together *= inside[a];
      if (mesh.sizes[a] > 1) axes.push_back(a);
    }
    if (axes.empty()) continue;
    const GroupPattern pattern = pattern_of(reduction.goal);
    const double bytes = message_bytes(reduction, ranks, together, node_ranks / together);
    auto same = std::ranges::find_if(
        mesh.traffic, [&](const NodeTraffic& t) { return t.pattern == pattern && t.axes == axes; });
    if (same == mesh.traffic.end()) {
      mesh.traffic.push_back({.pattern = pattern, .axes = axes, .groups = groups_over(mesh, axes)});
      same = std::prev(mesh.traffic.end());
    }
    same->bytes += bytes;
    same->reductions.emplace_back(r, bytes);
  }
  return mesh;
}

// A link up of a switch is as fast as the links of all its hosts together, over the taper of its tier: 8
// hosts of 25 GB/s at a taper of 2 make 100 GB/s. Hosts of other jobs count for its speed and not for its
// load. Switches that have none or all of the job's hosts below them cut nothing and are left out. A chain of
// switches with the same hosts is as one link, as fast as its slowest.

namespace {

struct SwitchCounts {
  std::vector<int> all, wanted, level;  // hosts below it, those of the job; 0: hosts hang on it
};

// Each host counts at all switches above it; the level of a switch is that of the farthest host below it.
SwitchCounts counts_of(const Allocation& allocation) {
  const SwitchTree& tree = allocation.cluster;
  SwitchCounts counts{.all = std::vector(tree.switches.size(), 0),
                      .wanted = std::vector(tree.switches.size(), 0),
                      .level = std::vector(tree.switches.size(), 0)};
  for (const int leaf : tree.leaf) {
    int level = 0;
    for (int s = leaf; s >= 0; s = tree.above[s], ++level) {
      ++counts.all[s];
      counts.level[s] = std::max(counts.level[s], level);
    }
  }
  for (const int host : allocation.hosts)
    for (int s = tree.leaf[host]; s >= 0; s = tree.above[s]) ++counts.wanted[s];
  return counts;
}

}  // namespace

// Searches climb the tree by `above`; bounds go down it, so the inverse is made here.
std::vector<std::vector<int>> NodeTree::below_uplinks() const {
  std::vector<std::vector<int>> below(uplinks.size() + 1);
  for (std::size_t u = 0; u < uplinks.size(); ++u)
    below[uplinks[u].above < 0 ? uplinks.size() : static_cast<std::size_t>(uplinks[u].above)].push_back(
        static_cast<int>(u));
  return below;
}

std::vector<std::vector<int>> NodeTree::above_leaves() const {
  std::vector<std::vector<int>> above(leaves.size());
  for (std::size_t l = 0; l < leaves.size(); ++l)
    for (int u = leaves[l].uplink; u >= 0; u = uplinks[u].above) above[l].push_back(u);
  return above;
}

NodeTree node_tree(const Allocation& allocation, const NetworkRates& rates) {
  const SwitchTree& cluster = allocation.cluster;
  const SwitchCounts counts = counts_of(allocation);
  const int all = static_cast<int>(allocation.hosts.size());
  const auto is_cut = [&](int s) { return counts.wanted[s] > 0 && counts.wanted[s] < all; };
  NodeTree tree{.node_gbs = rates.node_gbs};
  std::vector<int> uplink(cluster.switches.size(), -1), in_order;
  for (int s = 0; s < static_cast<int>(cluster.switches.size()); ++s)
    if (is_cut(s)) in_order.push_back(s);
  // By level, so that a switch comes after those below it, and a chain is joined from its lowest switch on.
  std::ranges::stable_sort(in_order, {}, [&](int s) { return counts.level[s]; });
  for (const int s : in_order) {
    const std::size_t tier = std::min<std::size_t>(counts.level[s], rates.tapers.size() - 1);
    const double gbs = counts.all[s] * rates.node_gbs / rates.tapers[tier];
    // A switch with one that has all of the same hosts is joined to it.
    const auto below = std::ranges::find_if(in_order, [&](int b) {
      return uplink[b] >= 0 && cluster.above[b] == s && counts.wanted[b] == counts.wanted[s];
    });
    if (below != in_order.end()) {
      uplink[s] = uplink[*below];
      if (gbs < tree.uplinks[uplink[s]].gbs) {
        tree.uplinks[uplink[s]].gbs = gbs;
        tree.uplinks[uplink[s]].name = cluster.switches[s];
      }
      continue;
    }
    uplink[s] = static_cast<int>(tree.uplinks.size());
    tree.uplinks.push_back({.name = cluster.switches[s], .gbs = gbs, .hosts = counts.wanted[s]});
  }
  for (const int s : in_order) {
    const int above = cluster.above[s];
    if (above >= 0 && is_cut(above) && uplink[above] != uplink[s])
      tree.uplinks[uplink[s]].above = uplink[above];
  }
  // Leaves in the order in which the list of hosts comes to them.
  std::map<int, int> leaf_at;  // by switch
  for (int h = 0; h < all; ++h) {
    const int s = cluster.leaf[allocation.hosts[h]];
    const auto [at, is_new] = leaf_at.emplace(s, static_cast<int>(tree.leaves.size()));
    if (is_new) tree.leaves.push_back({.uplink = uplink[s]});
    tree.leaves[at->second].hosts.push_back(h);
  }
  return tree;
}

// Per direction: of an exchange among k nodes k - 1, of a ring or line one.
int messages_of_a_node(const NodeTraffic& traffic) {
  return traffic.pattern == GroupPattern::All ? static_cast<int>(traffic.groups.front().size()) - 1 : 1;
}

NodeLoads::NodeLoads(const NodeMesh& mesh, const NodeTree& tree)
    : mesh_(mesh), tree_(tree), above_(tree.above_leaves()), leaf_(mesh.nodes, -1) {
  inside_.assign(tree.uplinks.size(), std::vector<char>(tree.leaves.size(), 0));
  for (std::size_t l = 0; l < above_.size(); ++l)
    for (const int u : above_[l]) inside_[u][l] = 1;
  for (const NodeTraffic& traffic : mesh.traffic) {
    std::vector<int> group(mesh.nodes, 0), next(mesh.nodes, -1), before(mesh.nodes, -1);
    for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
      const std::vector<int>& nodes = traffic.groups[g];
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        group[nodes[i]] = static_cast<int>(g);
        if (i + 1 == nodes.size() && traffic.pattern == GroupPattern::Line) continue;
        next[nodes[i]] = nodes[(i + 1) % nodes.size()];
        before[nodes[(i + 1) % nodes.size()]] = nodes[i];
      }
    }
    group_.push_back(std::move(group));
    next_.push_back(std::move(next));
    before_.push_back(std::move(before));
    loads_.emplace_back(tree.uplinks.size());
    within_.emplace_back(traffic.pattern == GroupPattern::All ? traffic.groups.size() : 0,
                         std::vector<int>(tree.uplinks.size() + 1, 0));
  }
}

NodeLoads::NodeLoads(const NodeMesh& mesh, const NodeTree& tree, const LeafOfNode& leaves)
    : NodeLoads(mesh, tree) {
  for (int node = 0; node < mesh.nodes; ++node) put(node, leaves[node]);
}

// A message goes up from its leaf to the lowest switch above both, and down again: of each leaf's uplinks
// those that do not have the other below them.
void NodeLoads::count(int traffic, int from, int to, int by) {
  for (const int u : above_[from])
    if (inside_[u][to] == 0) loads_[traffic][u].out += by;
  for (const int u : above_[to])
    if (inside_[u][from] == 0) loads_[traffic][u].in += by;
}

// With m of a group's T placed nodes below an uplink, m (T - m) messages go each way.
void NodeLoads::count_all(int traffic, int node, int leaf, int by) {
  std::vector<int>& within = within_[traffic][group_[traffic][node]];
  const std::size_t uplinks = loads_[traffic].size();
  if (by < 0) within[uplinks] += by;
  for (std::size_t u = 0; u < uplinks; ++u) {
    const bool inside = inside_[u][leaf] != 0;
    if (inside && by < 0) within[u] += by;
    const int more = by * (inside ? within[uplinks] - within[u] : within[u]);
    loads_[traffic][u].out += more;
    loads_[traffic][u].in += more;
    if (inside && by > 0) within[u] += by;
  }
  if (by > 0) within[uplinks] += by;
}

void NodeLoads::change(int node, int leaf, int by) {
  for (int t = 0; t < static_cast<int>(mesh_.traffic.size()); ++t) {
    if (mesh_.traffic[t].pattern == GroupPattern::All) {
      count_all(t, node, leaf, by);
      continue;
    }
    if (const int next = next_[t][node]; next >= 0 && leaf_[next] >= 0) count(t, leaf, leaf_[next], by);
    if (const int before = before_[t][node]; before >= 0 && leaf_[before] >= 0)
      count(t, leaf_[before], leaf, by);
  }
}

void NodeLoads::put(int node, int leaf) {
  change(node, leaf, 1);
  leaf_[node] = leaf;
}

// What is taken away is counted in the state in which put() counted it: the node itself is on no leaf.
void NodeLoads::take(int node) {
  const int leaf = leaf_[node];
  leaf_[node] = -1;
  change(node, leaf, -1);
}

void NodeLoads::swap(int a, int b) {
  // Both are taken before either is put, so that no message between the two is counted from a leaf that one
  // of them has left.
  const int of_a = leaf_[a], of_b = leaf_[b];
  take(a);
  take(b);
  put(a, of_b);
  put(b, of_a);
}

// Compared in messages per GB/s; bytes per message are the same within one traffic. The nodes' own links
// are the bound that no order changes.
int NodeLoads::busiest(int traffic) const {
  double most = messages_of_a_node(mesh_.traffic[traffic]) / tree_.node_gbs;
  int busiest = -1;
  for (std::size_t u = 0; u < tree_.uplinks.size(); ++u) {
    const Load& load = loads_[traffic][u];
    const double time = std::max(load.out, load.in) / tree_.uplinks[u].gbs;
    if (time <= most) continue;
    most = time;
    busiest = static_cast<int>(u);
  }
  return busiest;
}

double NodeLoads::traffic_us(int traffic) const {
  const NodeTraffic& of = mesh_.traffic[traffic];
  const int u = busiest(traffic);
  const double messages =
      u < 0 ? messages_of_a_node(of) : std::max(loads_[traffic][u].out, loads_[traffic][u].in);
  return of.bytes * messages / (u < 0 ? tree_.node_gbs : tree_.uplinks[u].gbs) / 1e3;
}

OrderTime NodeLoads::time() const {
  OrderTime time;
  for (int t = 0; t < static_cast<int>(mesh_.traffic.size()); ++t) {
    time.us += traffic_us(t);
    for (const Load& load : loads_[t]) time.bytes += mesh_.traffic[t].bytes * (load.out + load.in);
  }
  return time;
}

// The time is a maximum, flat almost everywhere: a swap that unloads one of two busiest links does not
// change it. The mean over the links does.
double NodeLoads::smooth_us(double part) const {
  double us = 0;
  for (int t = 0; t < static_cast<int>(mesh_.traffic.size()); ++t) {
    double all = 0;
    for (std::size_t u = 0; u < tree_.uplinks.size(); ++u)
      all += std::max(loads_[t][u].out, loads_[t][u].in) / tree_.uplinks[u].gbs;
    us +=
        traffic_us(t) + part * mesh_.traffic[t].bytes * all / static_cast<double>(tree_.uplinks.size()) / 1e3;
  }
  return us;
}

// Messages that fit into the time; capped, since a traffic of 0 bytes has no limit.
NodeLoads::Limits NodeLoads::limits(const std::vector<double>& us) const {
  Limits limits(us.size());
  for (std::size_t t = 0; t < us.size(); ++t)
    for (const Uplink& uplink : tree_.uplinks) {
      const double messages = us[t] * (1 + 1e-9) * uplink.gbs * 1e3 / mesh_.traffic[t].bytes;
      limits[t].push_back(messages < 1e9 ? static_cast<int>(messages) : 1'000'000'000);
    }
  return limits;
}

// In messages of a node, so that traffic of many small messages does not outweigh one of a few.
double NodeLoads::excess(const Limits& limits) const {
  double all = 0;
  for (std::size_t t = 0; t < loads_.size(); ++t) {
    int over = 0;
    for (std::size_t u = 0; u < loads_[t].size(); ++u)
      over += std::max(0, loads_[t][u].out - limits[t][u]) + std::max(0, loads_[t][u].in - limits[t][u]);
    all += static_cast<double>(over) / messages_of_a_node(mesh_.traffic[t]);
  }
  return all;
}

}  // namespace chorale
