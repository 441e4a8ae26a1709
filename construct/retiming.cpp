// List scheduling. What must stay in order is read off the schedule, value by value (a value is what a rank
// has of a chunk): a read comes in a later step than the writes that made the value; a write comes in no
// earlier step than the reads of what was there before, since all sends of a step read first; and one that
// replaces comes after the writes before it, and before the additions after it. Additions to one value
// commute. So orders are edges of two kinds, "at least one step later" and "no earlier"; the second kind may
// form cycles inside a step (ranks that exchange sums), and a cycle is one job, done at once.
//
// The longest chain of steps behind goes first (construct/engine/list_scheduling.h); of equals the lower
// chunk, so chunks move on one after the other, as in a pipeline; and of one chunk what goes to the next
// rank after the sender: else all would leave the last ranks for later, whose ports are then too narrow. On
// a schedule composed of stages this overlaps the stages by itself.
#include "construct/retiming.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "construct/engine/list_scheduling.h"
#include "construct/engine/network.h"
#include "graph/components.h"

namespace chorale {
namespace {

constexpr long long kMaxChunkNumber = 1LL << 28;

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
    return ((-static_cast<long long>(graph.height(j)) * kMaxChunkNumber + chunk[j]) << 16) + turn;
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

// A copy may move to any step after its source has the chunk and before its destination sends it on. Steps
// with the fewest slow sends are emptied first, all of them or none.
//
// A step takes the latency of its slowest link, so one slow send that stays costs as much as all of them.
// Sends over other links stay where they are, and steps may become wider: the caller times the result.

namespace {

class SlowLinks {
 public:
  SlowLinks(const Topology& topology, const Collective& collective, const Schedule& schedule)
      : topology_(topology),
        collective_(collective),
        comes_(collective.chunks.size() * topology.ranks, -1),
        leaves_(comes_.size()),
        slow_of_(schedule.steps.size()) {
    for (const Link& link : topology.links) slowest_ = std::max(slowest_, link.alpha_us);
    for (int s = 0; s < std::ssize(schedule.steps); ++s)
      for (const Send& send : schedule.steps[s].sends) {
        const int number = static_cast<int>(sends_.size());
        sends_.push_back(send);
        step_of_.push_back(s);
        comes_[place_of(send.chunk, topology.links[send.link].dst)] = number;
        leaves_[place_of(send.chunk, topology.links[send.link].src)].push_back(number);
        if (topology.links[send.link].alpha_us == slowest_) slow_of_[s].push_back(number);
      }
  }

  // Greedy: the step with the fewest slow sends first, into the steps that still have some. A step that
  // cannot be emptied stays, and later ones may move into it.
  std::optional<Schedule> together() {
    std::vector<std::pair<std::size_t, int>> slow;  // steps by their slow sends
    std::set<int> left;
    for (int s = 0; s < std::ssize(slow_of_); ++s)
      if (!slow_of_[s].empty()) {
        slow.push_back({slow_of_[s].size(), s});
        left.insert(s);
      }
    std::ranges::sort(slow);
    const std::size_t before = left.size();
    for (const auto& [count, step] : slow) {
      left.erase(step);
      if (!empty(step, left)) left.insert(step);
    }
    if (left.size() == before) return std::nullopt;
    Schedule schedule = {.steps = std::vector<Step>(slow_of_.size())};
    for (std::size_t i = 0; i < sends_.size(); ++i) schedule.steps[step_of_[i]].sends.push_back(sends_[i]);
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
    for (Step& step : schedule.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    return schedule;
  }

 private:
  std::size_t place_of(Chunk chunk, Rank rank) const {
    return static_cast<std::size_t>(chunk) * topology_.ranks + rank;
  }

  // The nearest of the steps that the send may be in; -1 if there is none. After the step in which the source
  // gets the chunk, and before any in which the destination sends it on.
  int step_for(int number, const std::set<int>& steps) const {
    const Send& send = sends_[number];
    const Link& link = topology_.links[send.link];
    const int came =
        starts_at(collective_.chunks[send.chunk], link.src) ? -1 : comes_[place_of(send.chunk, link.src)];
    const int after = came < 0 ? -1 : step_of_[came];
    int before = static_cast<int>(slow_of_.size());
    for (const int next : leaves_[place_of(send.chunk, link.dst)]) before = std::min(before, step_of_[next]);
    const int now = step_of_[number];
    const auto above = steps.lower_bound(now);
    int best = -1;
    if (above != steps.begin() && *std::prev(above) > after) best = *std::prev(above);
    if (above != steps.end() && *above < before && (best < 0 || *above - now < now - best)) best = *above;
    return best;
  }

  // All slow sends of the step, or none. They move independently: of two that depend on each other one is in
  // an earlier step.
  bool empty(int step, const std::set<int>& others) {
    std::vector<std::pair<int, int>> moves;
    for (const int number : slow_of_[step]) {
      const int to = step_for(number, others);
      if (to < 0) return false;
      moves.emplace_back(number, to);
    }
    for (const auto& [number, to] : moves) {
      step_of_[number] = to;
      slow_of_[to].push_back(number);
    }
    slow_of_[step].clear();
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
  double slowest_ = 0;
  std::vector<Send> sends_ = {};
  std::vector<int> step_of_ = {};               // [send]
  std::vector<int> comes_ = {};                 // [chunk * ranks + rank] -> send; -1: none
  std::vector<std::vector<int>> leaves_ = {};   // [chunk * ranks + rank] -> sends
  std::vector<std::vector<int>> slow_of_ = {};  // [step] -> sends over the slowest links
};

}  // namespace

std::optional<Schedule> slow_links_together(const Topology& topology, const Collective& collective,
                                            const Schedule& schedule) {
  const auto alpha = [](const Link& link) { return link.alpha_us; };
  if (collective.combining || topology.links.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(topology.links, {}, alpha);
  if (least.alpha_us == most.alpha_us) return std::nullopt;
  return SlowLinks(topology, collective, schedule).together();
}

}  // namespace chorale
