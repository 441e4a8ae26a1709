// In the order of their digits, the devices of a group form a path through a tree of units, so at each level
// only the crossings between neighbouring children count. Trees over nodes do not have such an order; their
// edges are added up one by one, and since units then differ, each number is that of the busiest unit.
//
// A flow takes, at the outermost level at which its ends differ, a path between two children of one unit
// (own); at every level inside of that it leaves the child that it starts in and enters the one that it ends
// in (leaving). It does not use levels outside.
#include "cost/group_traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace chorale {
namespace {

LevelTraffic silent(int size) {
  const std::vector<double> none(size, 0.0);
  return {.own_out = none,
          .own_in = none,
          .leaving_out = none,
          .leaving_in = none,
          .all_out = none,
          .all_in = none};
}

void add_pair(LevelTraffic& level, int from, int to, double weight) {
  level.pairs.push_back({from, to, weight});
  level.own_out[from] += weight;
  level.own_in[to] += weight;
}

// Called last, when own and leaving flows are complete.
void add_leaving(LevelTraffic& level) {
  for (std::size_t d = 0; d < level.all_out.size(); ++d) {
    level.all_out[d] = level.own_out[d] + level.leaving_out[d];
    level.all_in[d] = level.own_in[d] + level.leaving_in[d];
  }
}

// The last child of a unit sends to the first of the next unit: inside of the outermost level these data
// leave and enter units. A cycle closes at the outermost level only.
// For sizes (2, 3), devices 0..5: outer level 2 -> 3 once (and 5 -> 0 closed); inner level 0 -> 1 -> 2 in
// each unit, whose last leaves and whose first is entered.
GroupTraffic in_order(const std::vector<int>& sizes, bool closed) {
  GroupTraffic traffic;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    LevelTraffic level = silent(sizes[i]);
    for (int d = 0; d + 1 < sizes[i]; ++d) add_pair(level, d, d + 1, 1);
    if (i == 0 && closed) add_pair(level, sizes[i] - 1, 0, 1);
    if (i > 0) level.leaving_out.back() = level.leaving_in.front() = 1;
    add_leaving(level);
    traffic.push_back(std::move(level));
  }
  return traffic;
}

// Over all rotations of a path's children: the fraction in which a child is followed by the next one, all but
// the rotation in which it is the last.
double followed(int size) {
  return 1 - 1.0 / size;
}

// The mean of all cycles whose inner digits are rotated: each child of a unit is followed by the next one in
// all of them but that in which it is the last, and then its data leave the unit.
GroupTraffic turned(const std::vector<int>& sizes) {
  GroupTraffic traffic = in_order({sizes.front()}, true);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    LevelTraffic level = silent(sizes[i]);
    for (int d = 0; d < sizes[i]; ++d) {
      add_pair(level, d, (d + 1) % sizes[i], followed(sizes[i]));
      level.leaving_out[d] = level.leaving_in[d] = 1.0 / sizes[i];
    }
    add_leaving(level);
    traffic.push_back(std::move(level));
  }
  return traffic;
}

// The mean of the cycle and its reverse.
GroupTraffic bidirectional(const GroupTraffic& traffic) {
  GroupTraffic result;
  for (const LevelTraffic& level : traffic) {
    LevelTraffic half = silent(static_cast<int>(level.all_out.size()));
    for (const LevelTraffic::Pair& pair : level.pairs) {
      add_pair(half, pair.from, pair.to, pair.weight / 2);
      add_pair(half, pair.to, pair.from, pair.weight / 2);
    }
    for (std::size_t d = 0; d < level.all_out.size(); ++d)
      half.leaving_out[d] = half.leaving_in[d] = (level.leaving_out[d] + level.leaving_in[d]) / 2;
    add_leaving(half);
    result.push_back(std::move(half));
  }
  return result;
}

// Loads of the children of all units at one outer level, before the busiest is taken.
struct OuterLoads {
  std::vector<double> own_out, own_in, leaving_out, leaving_in;  // [unit * size + digit]
  std::map<std::tuple<int, int, int>, double> pairs;             // unit, from, to
};

// A tree's edges carry 1/2 in each direction, since each of the two trees has half of the data.
void add_tree(std::vector<OuterLoads>& loads, const std::vector<int>& sizes, const std::vector<int>& parent,
              bool with_pairs) {
  const int outer = static_cast<int>(loads.size());
  std::vector<int> below(outer, 1);  // nodes in a child
  for (int i = outer - 1; i > 0; --i) below[i - 1] = below[i] * sizes[i];
  // Node numbers are digits: a / sizes[i] is the unit, a % sizes[i] the child in it.
  const auto flow = [&](int from, int to, double weight) {
    bool parted = false;
    for (int i = 0; i < outer; ++i) {
      const int a = from / below[i], b = to / below[i];
      if (a == b) continue;
      OuterLoads& load = loads[i];
      (parted ? load.leaving_out : load.own_out)[a] += weight;
      (parted ? load.leaving_in : load.own_in)[b] += weight;
      if (!parted && with_pairs) load.pairs[{a / sizes[i], a % sizes[i], b % sizes[i]}] += weight;
      parted = true;
    }
  };
  for (int node = 0; node < static_cast<int>(parent.size()); ++node) {
    if (parent[node] < 0) continue;
    flow(node, parent[node], 0.5);
    flow(parent[node], node, 0.5);
  }
}

// Each number is taken from the unit where it is largest, so different ones may be from different units.
LevelTraffic busiest(const OuterLoads& loads, int size) {
  LevelTraffic level = silent(size);
  const auto raise = [](double& to, double value) { to = std::max(to, value); };
  for (std::size_t child = 0; child < loads.own_out.size(); ++child) {
    const std::size_t d = child % static_cast<std::size_t>(size);
    raise(level.own_out[d], loads.own_out[child]);
    raise(level.own_in[d], loads.own_in[child]);
    raise(level.leaving_out[d], loads.leaving_out[child]);
    raise(level.leaving_in[d], loads.leaving_in[child]);
    raise(level.all_out[d], loads.own_out[child] + loads.leaving_out[child]);
    raise(level.all_in[d], loads.own_in[child] + loads.leaving_in[child]);
  }
  std::map<std::pair<int, int>, double> pairs;
  for (const auto& [where, weight] : loads.pairs)
    raise(pairs[{std::get<1>(where), std::get<2>(where)}], weight);
  for (const auto& [ends, weight] : pairs) level.pairs.push_back({ends.first, ends.second, weight});
  return level;
}

// In binary numbers: clear the lowest bit that is set, and set the one above it; if that node does not exist,
// just clear it. Odd numbers are leaves.
std::vector<int> binary_tree(int n) {
  std::vector<int> parent(n, -1);
  for (int v = 1; v < n; ++v) {
    const int bit = v & -v, up = (v ^ bit) | (bit << 1);
    parent[v] = up < n ? up : v ^ bit;
  }
  return parent;
}

}  // namespace

double LevelTraffic::crossing_out() const {
  return *std::max_element(all_out.begin(), all_out.end());
}

double LevelTraffic::crossing_in() const {
  return *std::max_element(all_in.begin(), all_in.end());
}

int count(const Cycles& cycles, const std::vector<int>& sizes) {
  int result = cycles.bidirectional ? 2 : 1;
  if (cycles.turned)
    for (std::size_t i = 1; i < sizes.size(); ++i) result *= sizes[i];
  return result;
}

GroupTraffic cycle_traffic(const std::vector<int>& sizes, const Cycles& cycles) {
  const GroupTraffic one_way = cycles.turned ? turned(sizes) : in_order(sizes, true);
  return cycles.bidirectional ? bidirectional(one_way) : one_way;
}

GroupTraffic chain_traffic(const std::vector<int>& sizes) {
  return in_order(sizes, false);
}

// The edge that is left out is one of the first innermost unit. If there are others, they have it, and they
// are the busiest.
GroupTraffic chain_back_traffic(const std::vector<int>& sizes) {
  GroupTraffic traffic = in_order(sizes, true);
  if (sizes.size() > 1) return traffic;
  traffic.front() = silent(sizes.front());
  for (int d = 1; d < sizes.front(); ++d) add_pair(traffic.front(), d, (d + 1) % sizes.front(), 1);
  add_leaving(traffic.front());
  return traffic;
}

// A child with q of n devices sends q to each device outside of it.
GroupTraffic all_to_all_traffic(const std::vector<int>& sizes) {
  double all = 1;
  for (int size : sizes) all *= size;
  GroupTraffic traffic;
  double in_unit = all;
  for (int size : sizes) {
    const double in_child = in_unit / size;
    LevelTraffic level = silent(size);
    for (int a = 0; a < size; ++a)
      for (int b = 0; b < size; ++b)
        if (a != b) add_pair(level, a, b, in_child * in_child);
    for (int d = 0; d < size; ++d) level.leaving_out[d] = level.leaving_in[d] = in_child * (all - in_unit);
    add_leaving(level);
    traffic.push_back(std::move(level));
    in_unit = in_child;
  }
  return traffic;
}

DoubleTree double_tree(int n) {
  DoubleTree trees{.first = binary_tree(n), .second = std::vector<int>(n, -1)};
  for (int v = 0; v < n; ++v) {
    // Even n: the mirror image, in which odd and even change places. Odd n: moved by one place, where they do
    // but for node 0: its twin, n - 1, is even as well.
    const int twin = n % 2 == 0 ? n - 1 - v : (v + n - 1) % n;
    const int parent = trees.first[twin];
    if (parent >= 0) trees.second[v] = n % 2 == 0 ? n - 1 - parent : (parent + 1) % n;
  }
  return trees;
}

GroupTraffic tree_traffic(const std::vector<int>& sizes, int outer, bool outer_pairs, bool turned) {
  GroupTraffic traffic;
  double degree_out = 0, degree_in = 0;  // what the busiest node sends to other nodes, and gets
  if (outer > 0) {
    std::vector<OuterLoads> loads(outer);
    int nodes = 1;
    for (int i = 0; i < outer; ++i) {
      nodes *= sizes[i];
      const std::vector<double> none(nodes, 0.0);
      loads[i] = {none, none, none, none, {}};
    }
    const DoubleTree trees = double_tree(nodes);
    add_tree(loads, sizes, trees.first, outer_pairs);
    add_tree(loads, sizes, trees.second, outer_pairs);
    for (int i = 0; i < outer; ++i) traffic.push_back(busiest(loads[i], sizes[i]));
    degree_out = traffic.back().crossing_out();
    degree_in = traffic.back().crossing_in();
  }
  // Inside of nodes the order is that of a chain, up and down; the data of the trees enter and leave by a
  // node's first device.
  for (int i = outer; i < static_cast<int>(sizes.size()); ++i) {
    LevelTraffic level = silent(sizes[i]);
    for (int d = 0; d + 1 < sizes[i] + (turned ? 1 : 0); ++d) {
      const double weight = turned ? followed(sizes[i]) : 1;
      add_pair(level, d, (d + 1) % sizes[i], weight);
      add_pair(level, (d + 1) % sizes[i], d, weight);
    }
    // The first device of a node has the trees before it instead of the chain.
    const double chain = i > outer ? 1 : 0;
    const double first_out = std::max(chain, degree_out), first_in = std::max(chain, degree_in);
    level.leaving_out.front() = first_out;
    level.leaving_in.front() = first_in;
    if (i > outer) level.leaving_out.back() = level.leaving_in.back() = 1;
    if (turned)  // each is the first one once, and the last one once
      for (int d = 0; d < sizes[i]; ++d) {
        level.leaving_out[d] = (first_out + chain) / sizes[i];
        level.leaving_in[d] = (first_in + chain) / sizes[i];
      }
    add_leaving(level);
    traffic.push_back(std::move(level));
  }
  return traffic;
}

}  // namespace chorale
