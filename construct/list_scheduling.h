// The list scheduler of this room: jobs put into steps, one step after the other. What is urgent (a key for
// each job) and how wide steps are is the caller's: construct/order.h, construct/period.h,
// construct/retiming.h, construct/fixed_order.h.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "construct/send_graph.h"
#include "construct/work_budget.h"

namespace chorale {

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

// In steps of at most `width` rounds each, but for jobs that need more by themselves. Nothing where jobs wait
// for each other.
std::optional<StepAssignment> in_even_steps(const SendGraph&, const ListScheduling::Key&, double width);

}  // namespace chorale
