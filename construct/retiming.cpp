// List scheduling. What must stay in order is read off the schedule, value by value (a value is what a rank
// has of a chunk): a read comes in a later step than the writes that made the value; a write comes in no
// earlier step than the reads of what was there before, since all sends of a step read first; and one that
// replaces comes after the writes before it, and before the additions after it. Additions to one value
// commute. So orders are edges of two kinds, "at least one step later" and "no earlier"; the second kind may
// form cycles inside a step (ranks that exchange sums), and a cycle is one job, done at once.
//
// Each step takes, of the jobs that may go, those with the longest chain of steps behind them, while links
// have room: of equals the one with the lower chunk, so chunks move on one after the other, as in a pipeline,
// and of one chunk that to the next rank after the sender: else all would leave the last ranks for later,
// whose ports are then too narrow. On a schedule composed of stages this overlaps the stages by itself. A
// queue per link, and a heap of their heads: of what waits for a full link only the first is examined.
#include "construct/retiming.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "construct/load.h"

namespace chorale {
namespace {

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

  // Tarjan's strongly connected components of the sends from `first` on, by orders of the second kind.
  void circles(int first) {
    const int count = static_cast<int>(sends_.size()) - first;
    job_.resize(sends_.size(), -1);
    std::vector<int> number(count, -1), low(count, 0), open;
    std::vector<std::pair<int, std::size_t>> calls;
    int next = 0;
    const auto enter = [&](int i) {
      number[i] = low[i] = next++;
      open.push_back(i);
      calls.push_back({i, 0});
    };
    for (int root = 0; root < count; ++root) {
      if (number[root] >= 0) continue;
      enter(root);
      while (!calls.empty()) {
        auto& [i, at] = calls.back();
        const std::vector<Precedence>& orders = after_[first + i];
        if (at == orders.size()) {
          const int done = i;
          calls.pop_back();
          if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
          if (low[done] != number[done]) continue;
          for (int member = -1; member != done; open.pop_back()) {
            member = open.back();
            job_[first + member] = jobs_;
          }
          ++jobs_;
          continue;
        }
        const Precedence& order = orders[at++];
        const int to = order.then - first;
        if (order.later) continue;
        if (number[to] < 0)
          enter(to);
        else if (job_[first + to] < 0)
          low[i] = std::min(low[i], number[to]);
      }
    }
  }

  std::vector<Send> sends_ = {};
  std::vector<std::vector<Precedence>> after_ = {};  // by send
  std::map<std::pair<Rank, Chunk>, Value> values_ = {};
  std::vector<int> job_ = {};
  int jobs_ = 0;
};

class Retiming {
 public:
  Retiming(const Topology& topology, const Schedule& schedule)
      : topology_(topology), given_(schedule), orders_(topology, schedule), jobs_(orders_.jobs()) {
    const int sends = static_cast<int>(orders_.sends().size());
    for (int i = 0; i < sends; ++i) jobs_[orders_.job_of(i)].sends.push_back(i);
    for (int i = 0; i < sends; ++i)
      for (const Precedence& order : orders_.after(i)) {
        const int to = orders_.job_of(order.then);
        if (to == orders_.job_of(i)) continue;
        jobs_[orders_.job_of(i)].after.push_back({.then = to, .later = order.later});
        ++jobs_[to].waits;
      }
    measure();
  }

  Schedule in_steps_of(int rounds) const {
    Run run{.ready = std::vector<Queue>(topology_.links.size())};
    for (const Job& job : jobs_) run.waits.push_back(job.waits);
    std::vector<int> freed;  // may go from the next step on
    for (int j = 0; j < std::ssize(jobs_); ++j)
      if (jobs_[j].waits == 0) freed.push_back(j);
    Load load(topology_);
    Schedule schedule;
    for (std::size_t done = 0; done < jobs_.size();) {
      std::vector<bool> full(topology_.links.size(), false);
      Queue heads;
      const auto show = [&](LinkId l) {
        if (!full[l] && !run.ready[l].empty()) heads.push(run.ready[l].top());
      };
      const auto put = [&](int j) { run.ready[link_of(j)].push(key(j)); };
      for (int j : std::exchange(freed, {})) put(j);
      for (LinkId l = 0; l < std::ssize(run.ready); ++l) show(l);
      load.clear();
      Step step;
      while (!heads.empty()) {
        const Key head = heads.top();
        heads.pop();
        const LinkId l = link_of(head.job);
        // One that was put in later came before it.
        if (full[l] || run.ready[l].empty() || run.ready[l].top().job != head.job) continue;
        if (!step.sends.empty() && !fits(head.job, load, rounds)) {
          full[l] = true;
          continue;
        }
        run.ready[l].pop();
        for (int i : jobs_[head.job].sends) {
          load.add(orders_.sends()[i].link);
          step.sends.push_back(orders_.sends()[i]);
        }
        ++done;
        for (const Precedence& order : jobs_[head.job].after) {
          run.later[order.then] = run.later[order.then] || order.later;
          if (--run.waits[order.then] > 0) continue;
          if (run.later[order.then]) {
            freed.push_back(order.then);
          } else {
            put(order.then);
            show(link_of(order.then));
          }
        }
        show(l);
      }
      // Something must go at once that must also follow each other, which ours never make: left as it was.
      if (step.sends.empty()) return given_;
      // What was let go in this step by a "later" has to wait for the next; what waited for earlier steps has
      // not.
      run.later.clear();
      step.rounds = load.rounds();
      std::ranges::sort(step.sends);
      schedule.steps.push_back(std::move(step));
    }
    return schedule;
  }

 private:
  struct Job {
    std::vector<int> sends = {};         // one, or a cycle
    std::vector<Precedence> after = {};  // by job
    int waits = 0;                       // orders into it
    int far = 0;                         // steps behind it
  };
  struct Key {
    int far = 0;
    Chunk chunk = 0;
    int turn = 0;  // from the sender's rank on, round all ranks, to the receiver's
    int job = 0;
    bool operator<(const Key& other) const {
      return std::tuple(far, -chunk, -turn, -job) <
             std::tuple(other.far, -other.chunk, -other.turn, -other.job);
    }
  };
  using Queue = std::priority_queue<Key>;
  struct Run {
    std::vector<Queue> ready = {};   // by link
    std::vector<int> waits = {};     // by job
    std::map<int, bool> later = {};  // of those that this step lets go: by an order of the first kind?
  };

  LinkId link_of(int j) const { return orders_.sends()[jobs_[j].sends.front()].link; }
  Key key(int j) const {
    const Link& link = topology_.links[link_of(j)];
    return {.far = jobs_[j].far,
            .chunk = orders_.sends()[jobs_[j].sends.front()].chunk,
            .turn = (link.dst - link.src + topology_.ranks) % topology_.ranks,
            .job = j};
  }

  bool fits(int j, Load& load, int rounds) const {
    const std::vector<int>& sends = jobs_[j].sends;
    if (sends.size() == 1) return load.has_room(orders_.sends()[sends.front()].link, rounds);
    Load with = load;
    for (int i : sends) {
      if (!with.has_room(orders_.sends()[i].link, rounds)) return false;
      with.add(orders_.sends()[i].link);
    }
    return true;
  }

  // The longest chain behind each job, from the last on.
  void measure() {
    std::vector<int> waits;
    std::vector<int> order;
    for (const Job& job : jobs_) waits.push_back(job.waits);
    for (int j = 0; j < std::ssize(jobs_); ++j)
      if (waits[j] == 0) order.push_back(j);
    for (std::size_t at = 0; at < order.size(); ++at)
      for (const Precedence& each : jobs_[order[at]].after)
        if (--waits[each.then] == 0) order.push_back(each.then);
    for (auto j = order.rbegin(); j != order.rend(); ++j)
      for (const Precedence& each : jobs_[*j].after)
        jobs_[*j].far = std::max(jobs_[*j].far, jobs_[each.then].far + (each.later ? 1 : 0));
  }

  const Topology& topology_;
  const Schedule& given_;
  const Precedences orders_;
  std::vector<Job> jobs_;
};

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
  const Retiming retiming(topology, schedule);
  std::vector<Schedule> schedules;
  for (int rounds = 1; effort.affords(relaxations); rounds = std::min(widest, rounds + rounds / 3 + 1)) {
    effort.spend(relaxations);
    schedules.push_back(retiming.in_steps_of(rounds));
    if (rounds == widest) break;
  }
  return schedules;
}

}  // namespace chorale
