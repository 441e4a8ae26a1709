// The list scheduler of this room: jobs put into steps, one step after the other. What is urgent (a key for
// each job) and how wide steps are is the caller's: construct/engine/order.h,
// construct/retiming.h, construct/fixed_order.h.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "construct/engine/network.h"
#include "construct/engine/work_budget.h"
#include "ir/topology.h"

namespace chorale {

// Sends and which of them wait for which: what list scheduling puts into steps. They come from a packing
// (construct/engine/jobs.h), from a schedule (construct/retiming.h) or from combination trees
// (construct/fixed_order.h).

class SendGraph {
 public:
  struct Edge {
    int then = 0;
    bool later = true;  // in a later step; else in no earlier one
  };

  explicit SendGraph(const Network& network) : network_(network), load_(network.bins(), 0) {}

  // Adds a job: sends over these links (one, or several in one step); returns its number.
  int add(std::span<const LinkId> links);
  int add(LinkId l) { return add(std::span(&l, 1)); }
  void wait(int job, int other, bool later = true) { edges_.emplace_back(other, Edge{job, later}); }
  // Is called after all of them. Jobs that wait for themselves, by way of others, never become ready.
  void finish();

  int count() const { return static_cast<int>(first_link_.size()) - 1; }
  std::span<const LinkId> links(int j) const { return part(links_, first_link_, j); }
  LinkId link(int j) const { return links_[first_link_[j]]; }
  int height(int j) const { return height_[j]; }    // steps that must follow, one after the other
  int waits_for(int j) const { return waits_[j]; }  // jobs
  std::span<const Edge> after(int j) const { return part(after_, first_after_, j); }
  const std::vector<int>& in_order() const { return in_order_; }  // each after those that it waits for
  const Network& network() const { return network_; }
  const std::vector<double>& load() const { return load_; }  // [bin] -> sends over it

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<int>& first, int i) {
    return std::span(all).subspan(first[i], first[i + 1] - first[i]);
  }

  const Network& network_;
  std::vector<std::pair<int, Edge>> edges_ = {};  // while it is built
  std::vector<LinkId> links_ = {};
  std::vector<int> first_link_ = {0}, first_after_ = {}, height_ = {}, waits_ = {}, in_order_ = {};
  std::vector<Edge> after_ = {};
  std::vector<double> load_;
};

// Which step each job is in, and how many rounds each step has; jobs of a graph that is repeated, copy after
// copy.
struct StepAssignment {
  std::vector<int> step_of = {};  // [copy * jobs + job]
  std::vector<int> rounds = {};   // [step]
  long long total_rounds() const;
};

class ListScheduling {
 public:
  // The least goes first; asked for when a job becomes ready.
  using Key = std::function<long long(int copy, int job)>;
  static constexpr long long kAnyKey = std::numeric_limits<long long>::max();
  static constexpr double kAnyWidth = std::numeric_limits<double>::infinity();

  // Both must outlive this.
  ListScheduling(const SendGraph&, WorkBudget&);

  void begin(int copies, Key);
  bool is_done() const { return left_ == 0; }
  // The step takes ready jobs, the least key first and none above `last`, while all bins have room within
  // `width` rounds. The first job of a step has room in any case.
  void fill(double width, long long last = kAnyKey);
  // [bin] -> sends of the step, and rounds that these need.
  const std::vector<double>& used() const { return used_; }
  int rounds() const;
  // The next step. False, and nothing changed, where this one has no job.
  bool end_step();
  const StepAssignment& plan() const { return plan_; }

 private:
  struct Ready {
    long long key = 0;
    int job = 0;  // of some copy
    auto operator<=>(const Ready&) const = default;
  };
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;
  using Heads = LeastFirst<std::pair<Ready, LinkId>>;

  bool has_room(int job, double width);
  void make_ready(int i);
  void take(int i, Heads&, long long last);
  void offer(LinkId, Heads&, long long last) const;

  const SendGraph& graph_;
  const Network& network_;
  WorkBudget& effort_;
  Key key_ = {};
  long long left_ = 0;
  std::vector<int> waits_ = {};
  std::vector<int> held_until_ = {};           // [job] -> the first step that is open to it
  std::vector<LeastFirst<Ready>> ready_ = {};  // [link]
  std::vector<LinkId> open_ = {};              // links with ready jobs, and perhaps some without
  std::vector<char> is_open_ = {};             // [link]
  std::vector<int> sent_ = {}, fresh_ = {};    // of the step; ready from the next one on
  std::vector<double> used_ = {};
  StepAssignment plan_ = {};
};

// Puts the jobs into steps of at most `width` rounds each, but for jobs that need more by themselves.
// Nothing where jobs wait for each other.
std::optional<StepAssignment> in_even_steps(const SendGraph&, const ListScheduling::Key&, double width);

}  // namespace chorale
