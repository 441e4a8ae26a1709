// Computes a maximum flow and a minimum cut.
#pragma once

#include <cstdint>
#include <vector>

namespace chorale {

class MaxFlow {
 public:
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 61;

  explicit MaxFlow(int nodes) : nodes_(nodes) {}
  // Returns the arc's number, to change its capacity and to ask about it later. No arcs may be added after
  // the first run.
  int add_arc(int from, int to, std::int64_t capacity);
  void set_capacity(int arc, std::int64_t capacity) { capacity_[arc] = capacity; }

  // Returns the maximum flow. Capacities must add up to less than 2^63 along what leaves the source.
  std::int64_t run(int source, int sink);
  // After run: returns more flow of the same kind, when arcs have been widened. What an arc carries may move
  // to others, but what has left the source over an arc stays. Returns what has come on top.
  void widen(int arc, std::int64_t capacity);
  std::int64_t run_on();
  std::int64_t flow(int arc) const { return capacity_[arc] - halves_[place_[arc]].left; }
  // After run: finds the minimum cut nearest to the source. Is the node on the source's side of it?
  void find_cut();
  bool on_source_side(int node) const { return level_[node] != kOut; }
  bool in_cut(int arc) const { return on_source_side(ends_[arc].from) && !on_source_side(ends_[arc].to); }

  // Counts the arcs examined in all runs: a measure of work that is the same on every machine.
  long long work() const { return work_; }

 private:
  static constexpr int kOut = -1;  // no path to the sink; not on the source's side

  struct Ends {
    int from = 0;
    int to = 0;
  };
  struct Half {  // of an arc, or of its reverse
    int to = 0;
    int other = 0;  // the reverse
    std::int64_t left = 0;
  };
  void lay_out();
  bool find_levels(int sink);
  std::int64_t push(int node, int sink, std::int64_t most);

  const int nodes_;
  std::vector<Ends> ends_ = {};              // by arc
  std::vector<std::int64_t> capacity_ = {};  // by arc
  std::vector<int> place_ = {};              // of an arc among halves_
  std::vector<Half> halves_ = {};            // by the node that they leave
  std::vector<int> first_ = {};              // of a node's
  int source_ = 0;
  int sink_ = 0;
  long long work_ = 0;
  std::vector<int> level_ = {};
  std::vector<int> at_ = {};
  std::vector<int> queue_ = {};
};

}  // namespace chorale
