// Bound, search, proof, in this order: the search ends early where the bound is met; where it is not, the
// slices of a line may refute all below (order_sets.h), and for few nodes all orders are tried.
#include "placement/node_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/words.h"
#include "placement/node_loads.h"
#include "placement/order_bound.h"
#include "placement/order_sets.h"

namespace chorale {
namespace {

// Three searches, one after the other. Starts: nested orders of the mesh laid along the leaves, which regular
// trees ask for. Annealing by swaps, first on time, then on excess over times that the bound still admits
// (Targets). Last, branch and bound over all orders up to symmetry.

constexpr double kRounding = 1e-9;
constexpr std::size_t kMostNestings = 3'000, kImproved = 6;
// Of 64 nodes on random fragments, 0.003 to 0.03 and parts of 0.1 to 1 are each the best for some jobs.
constexpr double kHottest = 0.01, kParts[] = {0.3, 1, 0.1};
constexpr double kHottestExcess = 0.3;  // nodes' messages
constexpr long long kRuns = 8;
constexpr std::size_t kMostRefuted = 64;
constexpr long long kRefutation = 4'000'000;  // elementary steps for each of them

// Is a better than b by more than rounding?
bool takes_less(const OrderTime& a, const OrderTime& b) {
  if (std::abs(a.us - b.us) > kRounding * b.us) return a.us < b.us;
  return a.bytes < b.bytes * (1 - kRounding);
}

// Digits of a mixed-radix number, the slowest first: an axis, and a factor of it.
struct MeshDigit {
  int axis = 0, base = 2;
};

std::vector<std::vector<int>> prime_factors(const NodeMesh& mesh) {
  std::vector<std::vector<int>> factors;
  for (int size : mesh.sizes) {
    factors.emplace_back();
    for (int prime = 2; size > 1; ++prime)
      for (; size % prime == 0; size /= prime) factors.back().push_back(prime);
  }
  return factors;
}

// The digits of an axis keep their order: ranges of an axis stay together.
// Interleavings of the axes' digit sequences: (a1 a2) and (b1) give a1 a2 b1, a1 b1 a2, b1 a1 a2. Each is
// a way to cut the mesh into boxes within boxes, which the switches then take.
void nestings(const std::vector<std::vector<int>>& factors, std::vector<std::size_t>& used,
              std::vector<MeshDigit>& digits, std::vector<std::vector<MeshDigit>>& all) {
  if (all.size() >= kMostNestings) return;
  bool is_end = true;
  for (std::size_t a = 0; a < factors.size(); ++a) {
    if (used[a] == factors[a].size()) continue;
    is_end = false;
    digits.push_back({static_cast<int>(a), factors[a][used[a]++]});
    nestings(factors, used, digits, all);
    digits.pop_back();
    --used[a];
  }
  if (is_end) all.push_back(digits);
}

// The nodes of the mesh in the order in which the digits count, the last digit the fastest. Digits of one
// axis make up its coordinate; two axes of 4 as a1 b1 a2 b2 go through 2 x 2 tiles.
std::vector<int> nodes_along(const NodeMesh& mesh, const std::vector<MeshDigit>& digits) {
  std::vector<int> nodes(mesh.nodes);
  for (int i = 0; i < mesh.nodes; ++i) {
    std::vector<int> at(mesh.sizes.size(), 0), scale(mesh.sizes.size(), 1);
    int left = i;
    for (std::size_t d = digits.size(); d-- > 0; left /= digits[d].base) {
      at[digits[d].axis] += left % digits[d].base * scale[digits[d].axis];
      scale[digits[d].axis] *= digits[d].base;
    }
    int node = 0;
    for (std::size_t a = 0; a < mesh.sizes.size(); ++a) node = node * mesh.sizes[a] + at[a];
    nodes[i] = node;
  }
  return nodes;
}

// Leaves below one uplink are neighbours; by the order of the file, the largest first, the smallest first.
// Keys from the root down, so that leaves of one subtree stay together whatever their sizes.
std::vector<std::vector<int>> leaf_orders(const NodeTree& tree) {
  const std::vector<std::vector<int>> above = tree.above_leaves();
  std::vector<std::vector<int>> orders;
  for (const int sign : {0, -1, 1}) {
    const auto key = [&](int l) {
      std::vector<int> key;
      for (auto u = above[l].rbegin(); u != above[l].rend(); ++u) {
        key.push_back(sign * tree.uplinks[*u].hosts);
        key.push_back(*u);
      }
      return key;
    };
    std::vector<int> leaves(tree.leaves.size());
    std::iota(leaves.begin(), leaves.end(), 0);
    std::ranges::stable_sort(leaves, {}, key);
    orders.push_back(leaves);
  }
  return orders;
}

struct OrderCandidate {
  OrderTime time = {};
  LeafOfNode leaves = {};
};

// Every nesting on every order of leaves, a few thousand at most (kMostNestings), by their times.
std::vector<OrderCandidate> starts(const NodeMesh& mesh, const NodeTree& tree) {
  std::vector<std::vector<MeshDigit>> all;
  std::vector<MeshDigit> digits;
  const std::vector<std::vector<int>> factors = prime_factors(mesh);
  std::vector<std::size_t> used(factors.size(), 0);
  nestings(factors, used, digits, all);
  std::vector<OrderCandidate> found;
  for (const std::vector<int>& order : leaf_orders(tree))
    for (const std::vector<MeshDigit>& each : all) {
      const std::vector<int> nodes = nodes_along(mesh, each);
      LeafOfNode leaves(mesh.nodes, -1);
      std::size_t next = 0;
      for (const int leaf : order)
        for (std::size_t h = 0; h < tree.leaves[leaf].hosts.size(); ++h) leaves[nodes[next++]] = leaf;
      found.push_back({NodeLoads(mesh, tree, leaves).time(), leaves});
    }
  // A few are improved, and not the best alone: from another start, swaps may end at another local minimum.
  std::ranges::stable_sort(found, takes_less, &OrderCandidate::time);
  found.resize(std::min(found.size(), kImproved));
  return found;
}

// Swaps that raise the cost are taken by chance, fewer and fewer: the temperature falls with the square of
// the moves that are left, to 0 at the end, so the last swaps are descent. `keep` sees the loads after each
// swap that is taken, and may lower the number of moves.
template <class Cost, class Keep>
void anneal(NodeLoads& loads, int nodes, double hottest, long long moves, std::mt19937& random,
            const Cost& cost, const Keep& keep) {
  double now = cost();
  for (long long move = 0, last = moves; move < last; ++move) {
    const int a = static_cast<int>(random() % static_cast<unsigned>(nodes));
    const int b = static_cast<int>(random() % static_cast<unsigned>(nodes));
    if (loads.leaf(a) == loads.leaf(b)) continue;
    loads.swap(a, b);
    const double then = cost();
    const double heat = hottest * std::pow(1 - static_cast<double>(move) / static_cast<double>(moves), 2);
    const double chance = static_cast<double>(random()) / 4294967296.0;
    if (then > now && (heat <= 0 || chance >= std::exp((now - then) / heat))) {
      loads.swap(a, b);
      continue;
    }
    now = then;
    keep(now, move, last);
  }
}

void keep_order(const NodeLoads& loads, OrderCandidate& best) {
  best.time = loads.time();
  for (std::size_t node = 0; node < best.leaves.size(); ++node)
    best.leaves[node] = loads.leaf(static_cast<int>(node));
}

// Of the time, and of this part of the mean over the links; the best by time is kept.
void improve(const NodeMesh& mesh, const NodeTree& tree, double part, double bound_us, long long moves,
             std::mt19937& random, OrderCandidate& best) {
  NodeLoads loads(mesh, tree, best.leaves);
  anneal(
      loads, mesh.nodes, kHottest * loads.smooth_us(part), moves, random,
      [&] { return loads.smooth_us(part); },
      [&](double /*cost*/, long long move, long long& last) {
        if (!takes_less(loads.time(), best.time)) return;
        keep_order(loads, best);
        // At the bound only the bytes can get better: a few more moves per node are enough.
        if (best.time.us <= bound_us * (1 + kRounding)) last = std::min(last, move + 20LL * mesh.nodes);
      });
}

// Is there an order whose communications take these times at most? If one is found, it becomes the best.
// A time that is a sum of maxima has no gradient towards a certain combination of maxima; the excess over
// it has.
bool reach(const NodeMesh& mesh, const NodeTree& tree, const std::vector<double>& times, long long moves,
           std::mt19937& random, OrderCandidate& best) {
  NodeLoads loads(mesh, tree, best.leaves);
  const NodeLoads::Limits limits = loads.limits(times);
  bool is_met = false;
  anneal(
      loads, mesh.nodes, kHottestExcess, moves, random, [&] { return loads.excess(limits); },
      [&](double excess, long long /*move*/, long long& last) {
        if (excess > 0) return;
        is_met = true;
        keep_order(loads, best);
        last = 0;
      });
  return is_met;
}

// Times of the communications that the bound admits and whose sum is at most some time, none of which could
// be longer.
class Targets {
 public:
  Targets(const NodeMesh& mesh, const NodeTree& tree, const OrderBound& bound, double most) : bound_(bound) {
    for (int t = 0; t < static_cast<int>(mesh.traffic.size()); ++t) {
      // A communication takes the time of its busiest link, so its times are integer numbers of messages over
      // a link's rate; less than its own bound it never takes.
      std::set<double> times = {bound.alone(t)};
      for (const Uplink& uplink : tree.uplinks) {
        const double one = mesh.traffic[t].bytes / uplink.gbs / 1e3;
        for (int n = 1; one > 0 && n * one <= most * (1 + kRounding) && times.size() < kMostTimes; ++n)
          if (n * one > bound.alone(t)) times.insert(n * one);
        is_cut_ = is_cut_ || times.size() == kMostTimes;
      }
      times_.emplace_back(times.begin(), times.end());
    }
    choose(most * (1 + kRounding));
  }
  const std::vector<std::vector<double>>& all() const { return all_; }
  bool is_complete() const { return chosen_ <= kMostChosen && !is_cut_; }

 private:
  static constexpr std::size_t kMostTimes = 1'000, kMostChosen = 200'000;

  // For all communications but the last every time that fits; for the last the longest that is left.
  // Maximal ones only: what fits less fits them.
  void choose(double left) {
    if (++chosen_ > kMostChosen) return;
    const std::vector<double>& times = times_[at_.size()];
    if (at_.size() + 1 < times_.size()) {
      for (const double us : times) {
        if (us > left) break;
        at_.push_back(us);
        choose(left - us);
        at_.pop_back();
      }
      return;
    }
    const auto above = std::ranges::upper_bound(times, left);
    if (above == times.begin()) return;
    at_.push_back(*std::prev(above));
    if (is_maximal(left - at_.back()) && bound_.admits(at_)) all_.push_back(at_);
    at_.pop_back();
  }
  bool is_maximal(double left) const {
    for (std::size_t t = 0; t < at_.size(); ++t) {
      const auto next = std::ranges::upper_bound(times_[t], at_[t] * (1 + kRounding));
      if (next != times_[t].end() && *next - at_[t] <= left) return false;
    }
    return true;
  }

  const OrderBound& bound_;
  std::vector<std::vector<double>> times_ = {};  // by traffic, ascending
  std::vector<double> at_ = {};
  std::size_t chosen_ = 0;
  bool is_cut_ = false;
  std::vector<std::vector<double>> all_ = {};
};

// First the times of the bound, then those below the best so far.
void reach_targets(const NodeMesh& mesh, const NodeTree& tree, const OrderBound& bound, long long moves,
                   std::mt19937& random, OrderCandidate& best) {
  // A fixed number of runs in all: first the targets at the bound, then those below the best that was found.
  const long long each = moves / kRuns;
  long long runs = kRuns;
  const auto reach_within = [&](double most) {
    const Targets targets(mesh, tree, bound, most);
    for (const std::vector<double>& times : targets.all())
      if (--runs < 0 || reach(mesh, tree, times, each, random, best)) return runs >= 0;
    return false;
  };
  if (reach_within(bound.us())) return;
  while (reach_within(best.time.us * (1 - 10 * kRounding))) continue;
}

// Leaves in the same place of subtrees that are equal as long as nothing is in them.
class EquivalentLeaves {
 public:
  explicit EquivalentLeaves(const NodeTree& tree)
      : above_(tree.above_leaves()), put_(tree.uplinks.size() + 1, 0) {
    for (std::size_t u = 0; u < tree.uplinks.size(); ++u) shapes_.push_back(shape(tree, static_cast<int>(u)));
    for (const NodeTree::Leaf& leaf : tree.leaves) hosts_.push_back(leaf.hosts.size());
  }
  void put(int leaf, int by) {
    for (const int u : above_[leaf]) put_[u] += by;
  }
  // Up to the first uplink that both leaves are below, subtrees have to be of one shape, and empty.
  bool alike(int a, int b) const {
    if (hosts_[a] != hosts_[b] || above_[a].size() != above_[b].size()) return false;
    for (std::size_t i = 0; i < above_[a].size() && above_[a][i] != above_[b][i]; ++i)
      if (put_[above_[a][i]] > 0 || put_[above_[b][i]] > 0 || shapes_[above_[a][i]] != shapes_[above_[b][i]])
        return false;
    return true;
  }

 private:
  // A canonical form of the subtree: two with the same text are isomorphic.
  static std::string shape(const NodeTree& tree, int uplink) {
    std::vector<std::string> below;
    for (std::size_t u = 0; u < tree.uplinks.size(); ++u)
      if (tree.uplinks[u].above == uplink) below.push_back(shape(tree, static_cast<int>(u)));
    std::ranges::sort(below);
    std::string text =
        std::to_string(tree.uplinks[uplink].hosts) + ":" + std::to_string(tree.uplinks[uplink].gbs) + "(";
    for (const std::string& each : below) text += each;
    return text + ")";
  }

  const std::vector<std::vector<int>> above_;
  std::vector<int> put_;
  std::vector<std::string> shapes_ = {};
  std::vector<std::size_t> hosts_ = {};
};

class AllOrders {
 public:
  AllOrders(const NodeMesh& mesh, const NodeTree& tree, long long nodes, LeafOfNode& best)
      : mesh_(mesh),
        loads_(mesh, tree),
        equivalent_(tree),
        left_(nodes),
        best_(best),
        best_us_(NodeLoads(mesh, tree, best).time().us) {
    for (const NodeTree::Leaf& leaf : tree.leaves) free_.push_back(static_cast<int>(leaf.hosts.size()));
    // Translations carry node 0 anywhere, unless a line ends somewhere.
    first_anywhere_ = std::ranges::any_of(
        mesh.traffic, [](const NodeTraffic& t) { return t.pattern == GroupPattern::Line; });
  }
  bool search() {
    descend(0);
    return left_ >= 0;
  }

 private:
  // Nodes in the order of the mesh: a node's ring neighbours are near it, so loads appear early. Of leaves
  // that are alike so far one is tried.
  void descend(int node) {
    if (--left_ < 0 || loads_.time().us >= best_us_ * (1 - kRounding)) return;
    if (node == mesh_.nodes) {
      best_us_ = loads_.time().us;
      for (int n = 0; n < mesh_.nodes; ++n) best_[n] = loads_.leaf(n);
      return;
    }
    std::vector<int> tried;
    for (int leaf = 0; leaf < static_cast<int>(free_.size()) && left_ >= 0; ++leaf) {
      if (free_[leaf] == 0 || std::ranges::any_of(tried, [&](int t) { return equivalent_.alike(t, leaf); }))
        continue;
      tried.push_back(leaf);
      --free_[leaf];
      loads_.put(node, leaf);
      equivalent_.put(leaf, 1);
      descend(node + 1);
      equivalent_.put(leaf, -1);
      loads_.take(node);
      ++free_[leaf];
      if (node == 0 && !first_anywhere_) return;
    }
  }

  const NodeMesh& mesh_;
  NodeLoads loads_;
  EquivalentLeaves equivalent_;
  long long left_;
  LeafOfNode& best_;
  double best_us_;
  std::vector<int> free_ = {};
  bool first_anywhere_ = true;
};

// Begins with the nodes along all nestings of the axes' prime factors, put on the leaves from one side of the
// tree to the other; the best of these are improved by swaps (simulated annealing), first of the time, which
// ends early where the bound is met, then of what exceeds times that the bound admits, the least ones first,
// which a time, being a sum of maxima, does not lead to.
LeafOfNode search_order(const NodeMesh& mesh, const NodeTree& tree, const OrderBound& bound,
                        long long moves) {
  std::vector<OrderCandidate> found = starts(mesh, tree);
  // A fixed seed: the same question has the same answer, and mt19937 is the same in every library.
  std::mt19937 random(1);
  OrderCandidate best = found.front();
  const auto is_met = [&] { return best.time.us <= bound.us() * (1 + kRounding); };
  const long long each = moves / static_cast<long long>(found.size());
  for (std::size_t i = 0; i < found.size() && !tree.uplinks.empty(); ++i) {
    improve(mesh, tree, kParts[i % std::size(kParts)], bound.us(), each, random, found[i]);
    if (takes_less(found[i].time, best.time)) best = found[i];
    if (is_met()) return best.leaves;
  }
  if (tree.uplinks.empty()) return best.leaves;
  reach_targets(mesh, tree, bound, 2 * moves, random, best);
  improve(mesh, tree, kParts[0], 0, each, random, best);  // of its bytes
  return best.leaves;
}

// True: what the bound admits below this time does not fit the slices of a line.
//
// All combinations of times below `us` that the bound admits, each refuted: then nothing is below.
bool refuted_by_slices(const NodeMesh& mesh, const NodeTree& tree, const OrderBound& bound, double us) {
  const Targets below(mesh, tree, bound, us * (1 - 10 * kRounding));
  const NodeLoads loads(mesh, tree);
  return below.is_complete() && below.all().size() <= kMostRefuted &&
         std::ranges::none_of(below.all(), [&](const std::vector<double>& times) {
           return slices_fit(mesh, tree, loads.limits(times), kRefutation);
         });
}

// Is there an order that takes less than `best`, which becomes it? Branch and bound: node by node on a leaf,
// on one only of leaves that are alike so far. False: `nodes` of its tree did not suffice.
bool search_all_orders(const NodeMesh& mesh, const NodeTree& tree, long long nodes, LeafOfNode& best) {
  return AllOrders(mesh, tree, nodes, best).search();
}

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
