// Down-sets (as a Young diagram is one) are enumerated node by node; for a line, sequences of down-sets of
// the other axes by dynamic programming over the slices, with a state (nodes so far, last slice) and the
// Pareto set of its loads.
#include "placement/order_sets.h"

#include <algorithm>
#include <optional>

#include "ir/undominated.h"

namespace chorale {
namespace {

using Least = std::map<int, std::set<NodeSetLoads>>;

// Only vectors that no other one dominates are kept.
void keep_least(std::set<NodeSetLoads>& kept, NodeSetLoads loads) {
  keep_undominated(kept, std::move(loads), [](const NodeSetLoads& a, const NodeSetLoads& b) {
    return std::ranges::equal(a, b, std::ranges::less_equal());
  });
}

// A set of the nodes of a box, as flags.
using Flags = std::vector<char>;

// All down-sets of a box with at most so many nodes.
// A node may be in only if all that are one lower along some axis are: in the order of their numbers these
// come before it, so one pass decides node by node.
class DownSets {
 public:
  DownSets(const std::vector<int>& sizes, int largest, long long& budget)
      : largest_(largest), budget_(budget) {
    int nodes = 1;
    std::vector<int> strides(sizes.size(), 1);
    for (std::size_t a = sizes.size(); a-- > 0; nodes *= sizes[a]) strides[a] = nodes;
    for (int node = 0; node < nodes; ++node) {
      below_.emplace_back();
      for (std::size_t a = 0; a < sizes.size(); ++a)
        if (node / strides[a] % sizes[a] > 0) below_.back().push_back(node - strides[a]);
    }
    in_.assign(nodes, 0);
    extend(0, 0);
  }
  const std::vector<Flags>& all() const { return all_; }

 private:
  void extend(std::size_t node, int size) {
    if (--budget_ < 0) return;
    if (node == in_.size()) {
      budget_ -= static_cast<long long>(in_.size());
      all_.push_back(in_);
      return;
    }
    if (size < largest_ && std::ranges::all_of(below_[node], [&](int b) { return in_[b] != 0; })) {
      in_[node] = 1;
      extend(node + 1, size + 1);
      in_[node] = 0;
    }
    extend(node + 1, size);
  }

  const int largest_;
  long long& budget_;
  Flags in_ = {};
  std::vector<std::vector<int>> below_ = {};
  std::vector<Flags> all_ = {};
};

int size_of(const Flags& set) {
  return static_cast<int>(std::ranges::count(set, 1));
}

// Per group m (k - m) or one boundary, by the pattern; see load_of_part().
int load_of_set(const NodeTraffic& traffic, const Flags& in) {
  int all = 0;
  for (const std::vector<int>& group : traffic.groups) {
    int m = 0;
    for (const int node : group) m += in[node];
    all += load_of_part(traffic, m, static_cast<int>(group.size()));
  }
  return all;
}

// A line's sets are down-sets along its own axis, too, here: both of its directions together are bounded, and
// the busier one carries at least half.
Least of_down_sets(const NodeMesh& mesh, const std::set<int>& sizes, long long& budget) {
  Least least;
  const DownSets sets(mesh.sizes, *sizes.rbegin(), budget);
  for (const Flags& set : sets.all()) {
    const int size = size_of(set);
    if (!sizes.contains(size) || (budget -= mesh.nodes) < 0) continue;
    NodeSetLoads loads;
    for (const NodeTraffic& traffic : mesh.traffic)
      loads.push_back(in_one_direction(traffic, load_of_set(traffic, set)));
    keep_least(least[size], std::move(loads));
  }
  return least;
}

// The axis of the only line, if no other communication goes along it.
// With two lines only axes of neither could be pushed along; such meshes are left to of_down_sets().
std::optional<int> line_axis(const NodeMesh& mesh) {
  std::optional<int> axis;
  for (const NodeTraffic& traffic : mesh.traffic)
    if (traffic.pattern == GroupPattern::Line) {
      if (axis || traffic.axes.size() > 1) return std::nullopt;
      axis = traffic.axes.front();
    }
  for (const NodeTraffic& traffic : mesh.traffic)
    if (axis && traffic.pattern != GroupPattern::Line &&
        std::ranges::find(traffic.axes, *axis) != traffic.axes.end())
      return std::nullopt;
  return axis;
}

// Slice by slice along the axis of the line. Loads are those of the traffic, then of both directions of the
// line, of which the busier one counts in the end.
// From slice to slice nodes leave (out) and enter (in) the set: what the line sends across the cut in
// either direction.
class SlicesAlongLine {
 public:
  // Of sets of at most `largest` nodes.
  SlicesAlongLine(const NodeMesh& mesh, int axis, int largest, long long& budget)
      : mesh_(mesh), budget_(budget), length_(mesh.sizes[axis]), largest_(largest) {
    std::vector<int> others;
    for (int a = 0; a < static_cast<int>(mesh.sizes.size()); ++a)
      if (a != axis) others.push_back(mesh.sizes[a]);
    slices_ = DownSets(others, largest_, budget).all();
    int stride = 1;
    for (std::size_t a = mesh.sizes.size(); a-- > static_cast<std::size_t>(axis) + 1;)
      stride *= mesh.sizes[a];
    for (const Flags& slice : slices_) {
      Flags whole(mesh.nodes, 0);  // the slice as the first one of the mesh
      for (std::size_t i = 0; i < slice.size(); ++i)
        whole[i / stride * stride * length_ + i % stride] = slice[i];
      NodeSetLoads loads;
      for (const NodeTraffic& traffic : mesh.traffic)
        loads.push_back(traffic.pattern == GroupPattern::Line ? 0 : load_of_set(traffic, whole));
      slice_loads_.push_back(std::move(loads));
    }
  }

  // Of sets of these sizes. The first slice sends nothing along the line; each further one is compared with
  // the one before it.
  Least least(const std::set<int>& sizes) {
    States states;
    for (int s = 0; s < static_cast<int>(slices_.size()); ++s) {
      NodeSetLoads first = slice_loads_[s];
      first.insert(first.end(), {0, 0});
      states[{size_of(slices_[s]), s}].insert(first);
    }
    for (int i = 1; i < length_ && budget_ > 0; ++i) states = next(states);
    Least least;
    for (const auto& [at, all] : states)
      for (NodeSetLoads loads : all) {
        const int busier = std::max(loads[loads.size() - 2], loads.back());
        loads.resize(loads.size() - 2);
        for (std::size_t t = 0; t < loads.size(); ++t)
          if (mesh_.traffic[t].pattern == GroupPattern::Line) loads[t] = busier;
        if (sizes.contains(at.first)) keep_least(least[at.first], std::move(loads));
      }
    return least;
  }

  // Of sets of this size whose loads are within the limits, by traffic: nodes by slice.
  // Only the number of nodes per slice is kept: pushing leaves it as it is, so it is what links have to
  // agree on.
  std::set<std::vector<int>> counts(int size, const std::vector<int>& limits) const {
    struct Partial {
      int last = 0, size = 0;
      NodeSetLoads loads = {};  // and both directions of the line
      std::vector<int> counts = {};
      auto operator<=>(const Partial&) const = default;
    };
    const std::size_t traffic = mesh_.traffic.size();
    const auto is_within = [&](const Partial& partial) {
      for (std::size_t t = 0; t < traffic; ++t)
        if (mesh_.traffic[t].pattern == GroupPattern::Line
                ? std::max(partial.loads[traffic], partial.loads[traffic + 1]) > limits[t]
                : partial.loads[t] > limits[t])
          return false;
      return true;
    };
    std::set<Partial> partials = {{.last = -1, .loads = NodeSetLoads(traffic + 2, 0)}};
    for (int i = 0; i < length_; ++i) {
      std::set<Partial> then;
      for (const Partial& before : partials)
        for (int s = 0; s < static_cast<int>(slices_.size()); ++s) {
          Partial next = before;
          next.last = s;
          next.counts.push_back(size_of(slices_[s]));
          next.size += next.counts.back();
          if (--budget_ < 0 || next.size > size || (i + 1 == length_ && next.size < size)) continue;
          for (std::size_t t = 0; t < traffic; ++t) next.loads[t] += slice_loads_[s][t];
          for (std::size_t n = 0; i > 0 && n < slices_[s].size(); ++n) {
            next.loads[traffic] += slices_[before.last][n] > slices_[s][n] ? 1 : 0;
            next.loads[traffic + 1] += slices_[before.last][n] < slices_[s][n] ? 1 : 0;
          }
          if (is_within(next)) then.insert(std::move(next));
        }
      partials = std::move(then);
    }
    std::set<std::vector<int>> all;
    for (const Partial& partial : partials) all.insert(partial.counts);
    return all;
  }

 private:
  using States = std::map<std::pair<int, int>, std::set<NodeSetLoads>>;  // (nodes so far, last slice)

  // Only vectors of equal state are compared: what follows depends on the number of nodes and the last slice.
  States next(const States& states) {
    States then;
    for (int s = 0; s < static_cast<int>(slices_.size()); ++s) {
      const int size = size_of(slices_[s]);
      for (const auto& [at, all] : states) {
        if (at.first + size > largest_ || budget_ < 0) continue;
        int out = 0, in = 0;
        for (std::size_t i = 0; i < slices_[s].size(); ++i) {
          out += slices_[at.second][i] > slices_[s][i] ? 1 : 0;
          in += slices_[at.second][i] < slices_[s][i] ? 1 : 0;
        }
        std::set<NodeSetLoads>& kept = then[{at.first + size, s}];
        for (NodeSetLoads loads : all) {
          budget_ -= static_cast<long long>(kept.size()) + 4;
          for (std::size_t t = 0; t < slice_loads_[s].size(); ++t) loads[t] += slice_loads_[s][t];
          loads[loads.size() - 2] += out;
          loads.back() += in;
          keep_least(kept, std::move(loads));
        }
      }
    }
    return then;
  }

  const NodeMesh& mesh_;
  long long& budget_;
  const int length_, largest_;
  std::vector<Flags> slices_ = {};
  std::vector<NodeSetLoads> slice_loads_ = {};
};

// Nodes by slice, of all hosts below each link.
// Bottom-up: what the hosts below a link may have of each slice is the sum of what its links may have, if
// the link itself admits it. At the root all slices have to be full.
class SlicesOfLinks {
 public:
  using Counts = std::set<std::vector<int>>;

  SlicesOfLinks(const NodeMesh& mesh, const NodeTree& tree, int axis,
                const std::vector<std::vector<int>>& limits, long long& budget)
      : tree_(tree),
        limits_(limits),
        budget_(budget),
        length_(mesh.sizes[axis]),
        most_(mesh.nodes / length_),
        slices_(mesh, axis, mesh.nodes / 2, budget),
        below_(tree.below_uplinks()) {}
  bool fit() { return !below(-1).empty() || budget_ < 0; }

 private:
  Counts below(int uplink) {
    Counts all = {std::vector<int>(length_, 0)};
    int hosts = 0;
    for (const NodeTree::Leaf& leaf : tree_.leaves)
      if (leaf.uplink == uplink) hosts += static_cast<int>(leaf.hosts.size());
    const std::vector<int>& links =
        below_[uplink < 0 ? tree_.uplinks.size() : static_cast<std::size_t>(uplink)];
    // Hosts with no link of their own are in any slices.
    for (; hosts > 0 && !(links.empty() && uplink >= 0); --hosts) all = sums(all, units());
    for (const int link : links) all = sums(all, below(link));
    if (uplink < 0) return all;
    const Counts& own = of_link(uplink);
    if (links.empty()) return own;
    std::erase_if(all, [&](const std::vector<int>& counts) { return !own.contains(counts); });
    return all;
  }
  const Counts& of_link(int uplink) {
    std::vector<int> key = {tree_.uplinks[uplink].hosts};
    for (const std::vector<int>& of : limits_) key.push_back(of[uplink]);
    const auto [at, is_new] = known_.try_emplace(key);
    if (is_new) at->second = slices_.counts(key.front(), {key.begin() + 1, key.end()});
    return at->second;
  }
  Counts units() const {
    Counts all;
    for (int i = 0; i < length_; ++i) {
      std::vector<int> one(length_, 0);
      one[i] = 1;
      all.insert(one);
    }
    return all;
  }
  // A slice of the mesh has `most_` nodes, so larger counts are of no set.
  Counts sums(const Counts& first, const Counts& second) {
    Counts all;
    for (const std::vector<int>& a : first)
      for (const std::vector<int>& b : second) {
        if (--budget_ < 0) return all;
        std::vector<int> sum = a;
        for (int i = 0; i < length_; ++i) sum[i] += b[i];
        if (std::ranges::max(sum) <= most_) all.insert(std::move(sum));
      }
    return all;
  }

  const NodeTree& tree_;
  const std::vector<std::vector<int>>& limits_;
  long long& budget_;
  const int length_, most_;
  SlicesAlongLine slices_;
  const std::vector<std::vector<int>> below_;      // uplinks by the one above them; the last: the root
  std::map<std::vector<int>, Counts> known_ = {};  // by hosts and limits
};

}  // namespace

// Of an exchange every pair across the cut; of a ring as few edges as any set can have, one each way.
int load_of_part(const NodeTraffic& traffic, int m, int k) {
  return traffic.pattern == GroupPattern::All ? m * (k - m) : m > 0 && m < k ? 1 : 0;
}

// Both directions of a ring or an exchange are equal; of a line the busier one has half, rounded up.
int in_one_direction(const NodeTraffic& traffic, int both) {
  return traffic.pattern == GroupPattern::Line ? (both + 1) / 2 : both;
}

// Sizes above half are those of the complement. If the budget ends, the sizes above two thirds of the largest
// are given up for now, and half of the budget goes to the rest.
Least least_loads(const NodeMesh& mesh, const std::set<int>& sizes, long long budget) {
  std::set<int> smaller;  // a set and its complement send each other the same
  for (const int size : sizes) smaller.insert(std::min(size, mesh.nodes - size));
  Least found;
  // The budget is for all sizes up to the largest: without the last third of them, it may suffice.
  const auto find = [&](const auto& of_sizes) {
    long long share = budget;
    for (std::set<int> left = smaller; !left.empty(); share /= 2) {
      long long steps = share;
      Least some = of_sizes(left, steps);
      if (steps >= 0) {
        found.merge(some);
        for (const int size : left) smaller.erase(size);
        return;
      }
      left.erase(left.upper_bound(*left.rbegin() * 2 / 3), left.end());
    }
  };
  if (const std::optional<int> axis = line_axis(mesh))
    find([&](const std::set<int>& of, long long& steps) {
      return SlicesAlongLine(mesh, *axis, *of.rbegin(), steps).least(of);
    });
  // No such axis, or too many slices: a line counts half of what it sends both ways.
  find([&](const std::set<int>& of, long long& steps) { return of_down_sets(mesh, of, steps); });
  Least least;
  for (const int size : sizes)
    if (const auto at = found.find(std::min(size, mesh.nodes - size)); at != found.end())
      least[size] = at->second;
  return least;
}

bool slices_fit(const NodeMesh& mesh, const NodeTree& tree, const std::vector<std::vector<int>>& limits,
                long long budget) {
  const std::optional<int> axis = line_axis(mesh);
  return !axis || SlicesOfLinks(mesh, tree, *axis, limits, budget).fit();
}

}  // namespace chorale
