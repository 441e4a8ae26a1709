// Counts of messages per uplink, changed by what one node adds or takes away: O(neighbours x height of the
// tree) for rings and lines, O(uplinks) for an exchange among all. A search tries millions of swaps, and
// counting anew would take O(nodes) for each.
//
// Only messages between nodes that are placed count, so partial orders have lower bounds of their times:
// what the exhaustive search prunes by.
#include "placement/node_loads.h"

#include <algorithm>

namespace chorale {

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
