// Maximum flow and minimum cut by Dinic's algorithm.
#pragma once

#include <cstdint>
#include <vector>

namespace chorale {

class MaxFlow {
 public:
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 61;

  explicit MaxFlow(int nodes) : first_(nodes, -1) {}
  // The arc's number, to change its capacity and to ask about it later.
  int add_arc(int from, int to, std::int64_t capacity);
  void set_capacity(int arc, std::int64_t capacity) { capacity_[2 * arc] = capacity; }

  // Capacities must add up to less than 2^63 along what leaves the source.
  std::int64_t run(int source, int sink);
  // After run: is the node on the source's side of the minimum cut nearest to the source?
  bool on_source_side(int node) const { return level_[node] >= 0; }
  bool in_cut(int arc) const {
    return on_source_side(arcs_[2 * arc + 1].to) && !on_source_side(arcs_[2 * arc].to);
  }

 private:
  struct Arc {
    int to = 0;
    int next = -1;
  };
  bool find_levels(int source, int sink);
  std::int64_t push(int node, int sink, std::int64_t most);

  std::vector<int> first_ = {};
  std::vector<Arc> arcs_ = {};  // 2i and its reverse 2i+1
  std::vector<std::int64_t> capacity_ = {};
  std::vector<std::int64_t> left_ = {};
  std::vector<int> level_ = {};
  std::vector<int> at_ = {};
};

}  // namespace chorale
