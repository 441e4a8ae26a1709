// List scheduling. What must stay in order is read off the schedule, value by value (a value is what a rank
// has of a chunk): a read comes in a later step than the writes that made the value; a write comes in no
// earlier step than the reads of what was there before, since all sends of a step read first; and one that
// replaces comes after the writes before it, and before the additions after it. Additions to one value
// commute. So orders are edges of two kinds, "at least one step later" and "no earlier"; the second kind may
// form cycles inside a step (ranks that exchange sums), and a cycle is one job, done at once.
//
// The longest chain of steps behind goes first (construct/list_scheduling.h); of equals the lower chunk, so
// chunks move on one after the other, as in a pipeline; and of one chunk what goes to the next rank after the
// sender: else all would leave the last ranks for later, whose ports are then too narrow. On a schedule
// composed of stages this overlaps the stages by itself.
#include "construct/retiming.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "construct/list_scheduling.h"
#include "construct/network.h"
#include "construct/send_graph.h"
#include "graph/components.h"

namespace chorale {
namespace {

constexpr long long kMostChunks = 1LL << 28;

struct Precedence {
  int then = 0;       // send, later job
  bool later = true;  // in a later step; otherwise in no earlier one
};

// Sends in the order of their steps, and the dependences between them.
class Precedences {
 public:
  Precedences(const Topology& topology, const Schedule& schedule) {
    for (const Step& step : schedule.steps) {
      const int first = static_cast<int>(sends_.size());
      sends_.insert(sends_.end(), step.sends.begin(), step.sends.end());
      after_.resize(sends_.size());
      const auto value = [&](Rank n, Chunk c) -> Value& { return values_[{n, c}]; };
      for (int i = first; i < std::ssize(sends_); ++i) {
        Value& read = value(topology.links[sends_[i].link].src, sends_[i].chunk);
        for (int write : read.writes) after_[write].push_back({.then = i});
      }
      for (int i = first; i < std::ssize(sends_); ++i)
        value(topology.links[sends_[i].link].src, sends_[i].chunk).reads.push_back(i);
      // Of one step, the send that replaces first.
      for (const bool reduce : {false, true})
        for (int i = first; i < std::ssize(sends_); ++i)
          if (sends_[i].reduce == reduce)
            write(i, value(topology.links[sends_[i].link].dst, sends_[i].chunk));
      circles(first);
    }
  }

  const std::vector<Send>& sends() const { return sends_; }
  const std::vector<Precedence>& after(int send) const { return after_[send]; }
  int job_of(int send) const { return job_[send]; }
  int jobs() const { return jobs_; }

 private:
  struct Value {
    std::vector<int> writes = {};  // the last that replaced, and what was added since
    std::vector<int> reads = {};   // since the last that replaced
  };

  void write(int i, Value& value) {
    for (int read : value.reads)
      if (read != i) after_[read].push_back({.then = i, .later = false});
    if (sends_[i].reduce) {
      if (!value.writes.empty() && !sends_[value.writes.front()].reduce)
        after_[value.writes.front()].push_back({.then = i});
      value.writes.push_back(i);
      return;
    }
    for (int write : value.writes) after_[write].push_back({.then = i});
    value.writes = {i};
    value.reads.clear();
  }

  // Sends from `first` on are one job where orders of the second kind lead from each to the other.
  void circles(int first) {
    const int count = static_cast<int>(sends_.size()) - first;
    std::vector<std::vector<int>> with(count);
    for (int i = 0; i < count; ++i)
      for (const Precedence& order : after_[first + i])
        if (!order.later) with[i].push_back(order.then - first);
    const int before = jobs_;
    for (const int component : strong_components(
             count, [&](int i) -> const auto& { return with[i]; })) {
      job_.push_back(before + component);
      jobs_ = std::max(jobs_, before + component + 1);
    }
  }

  std::vector<Send> sends_ = {};
  std::vector<std::vector<Precedence>> after_ = {};  // by send
  std::map<std::pair<Rank, Chunk>, Value> values_ = {};
  std::vector<int> job_ = {};
  int jobs_ = 0;
};

// Jobs of the graph are those of the precedences, with their numbers.
SendGraph graph_of(const Precedences& orders, const Network& network) {
  std::vector<std::vector<LinkId>> links(orders.jobs());
  for (int i = 0; i < std::ssize(orders.sends()); ++i)
    links[orders.job_of(i)].push_back(orders.sends()[i].link);
  SendGraph graph(network);
  for (const std::vector<LinkId>& each : links) graph.add(each);
  for (int i = 0; i < std::ssize(orders.sends()); ++i)
    for (const Precedence& order : orders.after(i))
      if (const int then = orders.job_of(order.then); then != orders.job_of(i))
        graph.wait(then, orders.job_of(i), order.later);
  graph.finish();
  return graph;
}

Schedule in_steps(const StepAssignment& plan, const Precedences& orders) {
  Schedule schedule;
  for (const int rounds : plan.rounds) schedule.steps.push_back({.rounds = rounds});
  for (int i = 0; i < std::ssize(orders.sends()); ++i)
    schedule.steps[plan.step_of[orders.job_of(i)]].sends.push_back(orders.sends()[i]);
  for (Step& step : schedule.steps) std::ranges::sort(step.sends);
  return schedule;
}

}  // namespace

std::vector<Schedule> retimings(const Topology& topology, const Schedule& schedule, WorkBudget& effort) {
  // Work per send: one for the send, and about three more for its dependences.
  constexpr int kLooks = 4;
  long long relaxations = 0;
  int widest = 1;
  for (const Step& step : schedule.steps) {
    relaxations += kLooks * std::ssize(step.sends);
    widest = std::max(widest, step.rounds);
  }
  if (!effort.affords(relaxations)) return {};
  const Network network(topology);
  const Precedences orders(topology, schedule);
  const SendGraph graph = graph_of(orders, network);
  std::vector<Chunk> chunk(graph.count());
  for (int i = 0; i < std::ssize(orders.sends()); ++i) chunk[orders.job_of(i)] = orders.sends()[i].chunk;
  // The highest, then the lowest chunk, then what goes to the next rank after the sender's, round all ranks.
  const auto key = [&](int, int j) {
    const Link& link = topology.links[graph.link(j)];
    const long long turn = (link.dst - link.src + topology.ranks) % topology.ranks;
    return ((-static_cast<long long>(graph.height(j)) * kMostChunks + chunk[j]) << 16) + turn;
  };
  std::vector<Schedule> schedules;
  for (int rounds = 1; effort.affords(relaxations); rounds = std::min(widest, rounds + rounds / 3 + 1)) {
    effort.spend(relaxations);
    const std::optional<StepAssignment> steps = in_even_steps(graph, key, rounds);
    // Nothing is returned where jobs wait for each other in a cycle, and one of them for a later step.
    // Schedules of this room have no such cycle; any other schedule is kept as it is.
    schedules.push_back(steps ? in_steps(*steps, orders) : schedule);
    if (rounds == widest) break;
  }
  return schedules;
}

}  // namespace chorale
