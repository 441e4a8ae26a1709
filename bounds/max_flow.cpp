#include "bounds/max_flow.h"

#include <algorithm>

namespace chorale {

int MaxFlow::add_arc(int from, int to, std::int64_t capacity) {
  const int number = static_cast<int>(arcs_.size()) / 2;
  arcs_.push_back({.to = to, .next = first_[from]});
  first_[from] = 2 * number;
  arcs_.push_back({.to = from, .next = first_[to]});
  first_[to] = 2 * number + 1;
  capacity_.insert(capacity_.end(), {capacity, 0});
  return number;
}

std::int64_t MaxFlow::run(int source, int sink) {
  left_ = capacity_;
  std::int64_t flow = 0;
  while (find_levels(source, sink)) {
    at_ = first_;
    while (const std::int64_t pushed = push(source, sink, kUnbounded)) flow += pushed;
  }
  return flow;
}

bool MaxFlow::find_levels(int source, int sink) {
  level_.assign(first_.size(), -1);
  std::vector<int> queue = {source};
  level_[source] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (int a = first_[queue[i]]; a >= 0; a = arcs_[a].next)
      if (left_[a] > 0 && level_[arcs_[a].to] < 0) {
        level_[arcs_[a].to] = level_[queue[i]] + 1;
        queue.push_back(arcs_[a].to);
      }
  return level_[sink] >= 0;
}

// Everything that this node can pass on at once, not one path: a node is visited once a phase.
std::int64_t MaxFlow::push(int node, int sink, std::int64_t most) {
  if (node == sink) return most;
  std::int64_t pushed = 0;
  for (int& a = at_[node]; a >= 0; a = arcs_[a].next) {
    const int to = arcs_[a].to;
    if (left_[a] <= 0 || level_[to] != level_[node] + 1) continue;
    const std::int64_t through = push(to, sink, std::min(most - pushed, left_[a]));
    left_[a] -= through;
    left_[a ^ 1] += through;
    pushed += through;
    if (pushed == most) return pushed;
  }
  return pushed;
}

}  // namespace chorale
