#include "placement/order_sets.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace chorale {
namespace {

using Least = std::map<int, std::set<NodeSetLoads>>;

// Only vectors that no other one dominates are kept.
void keep_least(std::set<NodeSetLoads>& kept, NodeSetLoads loads) {
  const auto dominates = [](const NodeSetLoads& a, const NodeSetLoads& b) {
    return std::ranges::equal(a, b, [](int x, int y) { return x <= y; });
  };
  if (std::ranges::any_of(kept, [&](const NodeSetLoads& k) { return dominates(k, loads); })) return;
  std::erase_if(kept, [&](const NodeSetLoads& k) { return dominates(loads, k); });
  kept.insert(std::move(loads));
}

// A set of the nodes of a box, as flags.
using Flags = std::vector<char>;

// All down-sets of a box with at most so many nodes.
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

int load_of_set(const NodeTraffic& traffic, const Flags& in) {
  int all = 0;
  for (const std::vector<int>& group : traffic.groups) {
    int m = 0;
    for (const int node : group) m += in[node];
    all += load_of_part(traffic, m, static_cast<int>(group.size()));
  }
  return all;
}

Least of_down_sets(const NodeMesh& mesh, const std::set<int>& sizes, long long& budget) {
  Least least;
  const DownSets sets(mesh.sizes, sizes.empty() ? 0 : *sizes.rbegin(), budget);
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
class SlicesAlongLine {
 public:
  SlicesAlongLine(const NodeMesh& mesh, int axis, const std::set<int>& sizes, long long& budget)
      : mesh_(mesh), sizes_(sizes), budget_(budget), length_(mesh.sizes[axis]) {
    std::vector<int> others;
    for (int a = 0; a < static_cast<int>(mesh.sizes.size()); ++a)
      if (a != axis) others.push_back(mesh.sizes[a]);
    largest_ = sizes.empty() ? 0 : *sizes.rbegin();
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

  Least least() {
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
        if (sizes_.contains(at.first)) keep_least(least[at.first], std::move(loads));
      }
    return least;
  }

 private:
  using States = std::map<std::pair<int, int>, std::set<NodeSetLoads>>;  // (nodes so far, last slice)

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
  const std::set<int>& sizes_;
  long long& budget_;
  const int length_;
  int largest_ = 0;
  std::vector<Flags> slices_ = {};
  std::vector<NodeSetLoads> slice_loads_ = {};
};

}  // namespace

int load_of_part(const NodeTraffic& traffic, int m, int k) {
  return traffic.pattern == GroupPattern::All ? m * (k - m) : m > 0 && m < k ? 1 : 0;
}

int in_one_direction(const NodeTraffic& traffic, int both) {
  return traffic.pattern == GroupPattern::Line ? (both + 1) / 2 : both;
}

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
      return SlicesAlongLine(mesh, *axis, of, steps).least();
    });
  // No such axis, or too many slices: a line counts half of what it sends both ways.
  find([&](const std::set<int>& of, long long& steps) { return of_down_sets(mesh, of, steps); });
  Least least;
  for (const int size : sizes)
    if (const auto at = found.find(std::min(size, mesh.nodes - size)); at != found.end())
      least[size] = at->second;
  return least;
}

}  // namespace chorale
