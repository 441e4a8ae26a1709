// Dinic's algorithm (1970): as long as the sink can be reached, levels by breadth-first search, and as much
// flow as fits along arcs that lead to the next level.
//
// Levels count towards the sink, and what leaves the source may enter at any level. Our sources are joined to
// all ranks, so levels from the source were as many phases as the machine is wide: 15 s for an Allgather on
// torus:32x32, where nearly all flows now take a phase or two, and 0.6 s. It ends as Dinic's does: a node
// that the source can still fill has no path left in its level, and is farther from the sink in the next
// phase. Push-relabel would pass the same wave, with more code. Arcs lie by node: lists of them, for 137,000
// links, took three times as long to search.
//
// Invariant: an arc is stored twice in halves_, forward and backward, and what is left of the two together is
// the capacity: what is pushed forward can be taken back. Capacities are read at the beginning of a run, so
// that one network is used repeatedly with others.
#include "graph/max_flow.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "ir/work.h"

namespace chorale {

int MaxFlow::add_arc(int from, int to, std::int64_t capacity) {
  ends_.push_back({.from = from, .to = to});
  capacity_.push_back(capacity);
  return static_cast<int>(ends_.size()) - 1;
}

// Half arcs by the node that they leave, counted first, so that those of a node are adjacent in memory and no
// list is followed.
void MaxFlow::lay_out() {
  if (!first_.empty()) return;
  first_.assign(nodes_ + 1, 0);
  for (const Ends& ends : ends_) {
    ++first_[ends.from + 1];
    ++first_[ends.to + 1];
  }
  for (int n = 0; n < nodes_; ++n) first_[n + 1] += first_[n];
  std::vector<int> next(first_.begin(), first_.end() - 1);
  halves_.resize(2 * ends_.size());
  for (const Ends& ends : ends_) {
    const int there = next[ends.from]++, back = next[ends.to]++;
    halves_[there] = {.to = ends.to, .other = back};
    halves_[back] = {.to = ends.from, .other = there};
    place_.push_back(there);
  }
}

std::int64_t MaxFlow::run(int source, int sink) {
  lay_out();
  for (Half& half : halves_) half.left = 0;
  for (std::size_t arc = 0; arc < place_.size(); ++arc) halves_[place_[arc]].left = capacity_[arc];
  source_ = source;
  sink_ = sink;
  return run_on();
}

void MaxFlow::widen(int arc, std::int64_t capacity) {
  assert(capacity >= capacity_[arc]);
  halves_[place_[arc]].left += capacity - capacity_[arc];
  capacity_[arc] = capacity;
}

std::int64_t MaxFlow::run_on() {
  std::int64_t flow = 0;
  const long long before = work_;
  while (find_levels(sink_)) {
    // Within a phase, an arc that was found of no use stays so: each node remembers where it stopped (at_).
    at_.assign(first_.begin(), first_.end() - 1);
    while (const std::int64_t pushed = push(source_, sink_, kUnbounded)) flow += pushed;
  }
  work_done() += work_ - before;
  return flow;
}

// False if the source is not reached. The source itself has no level, so nothing is pushed back into it.
bool MaxFlow::find_levels(int sink) {
  level_.assign(nodes_, kOut);
  queue_.assign(1, sink);
  level_[sink] = 0;
  for (std::size_t i = 0; i < queue_.size() && static_cast<int>(queue_.size()) < nodes_; ++i) {
    const int node = queue_[i];
    if (node == source_) continue;
    work_ += first_[node + 1] - first_[node];
    for (int h = first_[node]; h < first_[node + 1]; ++h) {
      const int from = halves_[h].to;
      if (level_[from] != kOut || halves_[halves_[h].other].left <= 0) continue;
      level_[from] = level_[node] + 1;
      queue_.push_back(from);
    }
  }
  return std::exchange(level_[source_], kOut) != kOut;
}

// Everything that this node can pass on at once, not one path: a node is visited once a phase.
std::int64_t MaxFlow::push(int node, int sink, std::int64_t most) {
  if (node == sink) return most;
  std::int64_t pushed = 0;
  for (int& h = at_[node]; h < first_[node + 1]; ++h) {
    ++work_;
    Half& half = halves_[h];
    if (half.left <= 0 || level_[half.to] == kOut) continue;
    if (node != source_ && level_[half.to] != level_[node] - 1) continue;
    const std::int64_t through = push(half.to, sink, std::min(most - pushed, half.left));
    half.left -= through;
    halves_[half.other].left += through;
    pushed += through;
    if (pushed == most) return pushed;
  }
  return pushed;
}

// What the source still reaches. Every arc that leaves it is full and every one that enters it is empty, so
// the flow is the cut's capacity, and no flow is more, no cut less.
void MaxFlow::find_cut() {
  level_.assign(nodes_, kOut);
  queue_.assign(1, source_);
  level_[source_] = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i)
    for (int h = first_[queue_[i]]; h < first_[queue_[i] + 1]; ++h)
      if (halves_[h].left > 0 && level_[halves_[h].to] == kOut) {
        level_[halves_[h].to] = 0;
        queue_.push_back(halves_[h].to);
      }
}

}  // namespace chorale
