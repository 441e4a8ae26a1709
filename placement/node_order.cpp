// Bound, search, proof, in this order: the search ends early where the bound is met; where it is not, the
// slices of a line may refute all below (order_sets.h), and for few nodes all orders are tried.
#include "placement/node_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "ir/words.h"
#include "placement/node_loads.h"
#include "placement/order_bound.h"
#include "placement/order_search.h"

namespace chorale {
namespace {

// A node of the mesh is a host of the allocation, so their numbers have to agree.
NodeMesh mesh_on(const Allocation& allocation, const OrderQuestion& question) {
  NodeMesh mesh = node_mesh(question.job, question.node_ranks);
  if (mesh.nodes != static_cast<int>(allocation.hosts.size()))
    throw InputError(
        "--node-ranks",
        fmt::format("the axes make {} of {} ranks, and the allocation has {}", counted(mesh.nodes, "node"),
                    question.node_ranks, counted(std::ssize(allocation.hosts), "host")),
        "change the axes, the hosts or the ranks of a node");
  return mesh;
}

OrderTime time_on(const NodeMesh& mesh, const NodeTree& tree, const std::vector<int>& order) {
  std::vector<int> leaf_of_host(mesh.nodes, 0);
  for (int l = 0; l < static_cast<int>(tree.leaves.size()); ++l)
    for (const int host : tree.leaves[l].hosts) leaf_of_host[host] = l;
  LeafOfNode leaves;
  for (const int host : order) leaves.push_back(leaf_of_host[host]);
  return NodeLoads(mesh, tree, leaves).time();
}

// Places in Allocation::hosts. On a leaf, nodes keep the order of the list.
std::vector<int> hosts_of(const NodeTree& tree, const LeafOfNode& leaves) {
  std::vector<std::size_t> next(tree.leaves.size(), 0);
  std::vector<int> hosts;
  for (const int leaf : leaves) hosts.push_back(tree.leaves[leaf].hosts[next[leaf]++]);
  return hosts;
}

// Reductions that were added up into one traffic get their share of its time by bytes.
std::vector<OrderedCommunication> communications_of(const Job& job, const NodeMesh& mesh,
                                                    const NodeTree& tree, const LeafOfNode& leaves) {
  const NodeLoads loads(mesh, tree, leaves);
  std::vector<OrderedCommunication> all;
  for (int t = 0; t < static_cast<int>(mesh.traffic.size()); ++t) {
    const NodeTraffic& traffic = mesh.traffic[t];
    const int busiest = loads.busiest(t);
    for (const auto& [reduction, bytes] : traffic.reductions) {
      const double part = traffic.bytes > 0 ? bytes / traffic.bytes : 0;
      all.push_back({.name = job.reductions[reduction].name,
                     .us = loads.traffic_us(t) * part,
                     .least_us = bytes * messages_of_a_node(traffic) / tree.node_gbs / 1e3,
                     .busiest = busiest < 0 ? "links of nodes" : tree.uplinks[busiest].name});
    }
  }
  return all;
}

// Positions in Allocation::hosts, by the key of the host at each.
template <typename Key>
std::vector<int> sorted_by(const Allocation& allocation, const Key& key) {
  std::vector<int> order(allocation.hosts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int h) { return key(allocation.hosts[h]); });
  return order;
}

}  // namespace

OrderTime time_of_order(const Allocation& allocation, const OrderQuestion& question,
                        const std::vector<int>& order) {
  return time_on(mesh_on(allocation, question), node_tree(allocation, question.rates), order);
}

NodeOrder best_order(const Allocation& allocation, const OrderQuestion& question) {
  const NodeMesh mesh = mesh_on(allocation, question);
  const NodeTree tree = node_tree(allocation, question.rates);
  NodeOrder order{.job = question.job, .node_ranks = question.node_ranks, .rates = question.rates};
  const OrderBound bound(mesh, tree);
  order.bound_us = bound.us();
  // From here on the order has the best time that is known; an exhaustive search may still replace it.
  LeafOfNode leaves = search_order(mesh, tree, bound, question.moves);
  order.time = time_on(mesh, tree, hosts_of(tree, leaves));
  const auto is_met = [&] { return order.time.us <= order.bound_us * (1 + 1e-9); };
  if (is_met() || refuted_by_slices(mesh, tree, bound, order.time.us)) {
    order.proof = "the bound is met";
  } else if (search_all_orders(mesh, tree, question.nodes, leaves)) {
    order.proof = "exhaustive search";
  }
  const std::vector<int> hosts = hosts_of(tree, leaves);
  order.time = time_on(mesh, tree, hosts);
  order.proven = !order.proof.empty();
  // A time that was proven is a bound, even where OrderBound is weaker.
  if (order.proven) order.bound_us = order.time.us;
  for (const int h : hosts) {
    const int host = allocation.hosts[h];
    order.hosts.push_back(allocation.cluster.hosts[host]);
    order.switches.push_back(allocation.cluster.switches[allocation.cluster.leaf[host]]);
  }
  order.communications = communications_of(question.job, mesh, tree, leaves);
  // Baselines. Alphabetical: by characters, n10 before n9, as launchers sort names. By switch: hosts of one
  // switch side by side.
  const auto alphabetical = sorted_by(allocation, [&](int h) { return allocation.cluster.hosts[h]; });
  const auto by_switch = sorted_by(allocation, [](int h) { return h; });
  order.others = {{"alphabetical", time_on(mesh, tree, alphabetical)},
                  {"by switch", time_on(mesh, tree, by_switch)}};
  return order;
}

}  // namespace chorale
