// What a search has found until now, and the result that this is. AllReduces are composed of their phases,
// points merged and verified, proofs marked as points come, each point once; so what is asked for is there
// already.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/search_options.h"
#include "pareto/pareto_set.h"

namespace chorale {

// What a search has found: its threads put points and claims, and any thread may read at any time.
class Findings {
 public:
  Findings(const Topology&, const Collective& asked, const FrontierOptions&);

  // A point of what was asked for, or of a phase of an AllReduce: of the collective of that kind with the
  // chunks of its cost. `verified`: construct/ has done so.
  void put(CollectiveKind, const SharedPoint&, bool verified = false);
  // Kept unless the claims so far imply it.
  void put(const Claim&);
  // Why questions were left open, and will not be asked again.
  void give_up(const std::set<Stopped>&);

  // Puts together what was put lately, if it is time to. Each put does so too; what it was too early for is
  // left to the next, which may not come.
  void assemble_if_due() const;

  // Simulates the points put so far, until the search is stopped: up to `most_sends` sends in all, the points
  // of the fewest first, since a simulation takes long and some points are replaced soon.
  void time(double most_sends);

  // Returns what nothing beats by now, compositions included.
  ParetoSet frontier() const;
  // The Pareto set of a phase that is cut into `chunks` chunks. Empty with a k, which the other phase shares.
  ParetoSet phase(CollectiveKind, int chunks) const;
  // Returns by how much rounds exceed steps at most, in points of a phase with just these chunks; -1 without
  // any.
  int most_extra(CollectiveKind, int chunks) const;
  std::vector<Claim> claims() const;
  // Returns the strongest for any chunk count and any number of steps; 0/1 if none.
  Rate rate_bound(CollectiveKind) const;
  bool complete() const;
  bool is_empty() const;  // nothing was assembled yet that a result would have

  // Of all that was put. `stopped`: why the search ended; No: it did not have to.
  Result result(Stopped stopped, double seconds) const;
  // What is there, while the search goes on: nothing is timed, and no thread is waited for.
  Result so_far(Stopped stopped, double seconds) const;

  bool is_allreduce() const { return empty_.collective.kind == CollectiveKind::AllReduce; }
  const Result& question() const { return empty_; }  // without points and claims

 private:
  // A result whose points have no schedules, and the points, in the same order.
  struct Assembled {
    Result marked = {};
    std::vector<SharedPoint> points = {};
    std::optional<Stopped> given_up = {};
  };
  struct Parts {
    ParetoSet direct = {};
    std::vector<SharedPoint> beaten = {};  // by these; only with FrontierOptions::us
    std::map<CollectiveKind, std::vector<SharedPoint>> phases = {};
    std::map<CollectiveKind, std::vector<SharedPoint>> replaced = {};  // by these, lately; likewise
    std::set<SharedPoint> verified = {};
    std::vector<Claim> claims = {};
    std::set<Stopped> given_up = {};
    int changes = 0;
  };
  using Times = std::vector<double>;  // by size
  // What was found out of a point; `point` keeps its address from being another's.
  struct Known {
    SharedPoint point = {};
    bool sound = false;
    std::optional<Times> us = {};
  };
  // A ReduceScatter and an Allgather, one after the other, or an Allgather of whole vectors alone.
  struct Composition {
    Cost cost = {};
    SharedPoint scatter = {}, gather = {};
  };

  static double rate_of(const Cost&);
  static bool is_small(const Point&);
  bool is_late() const;  // the search is stopped
  Parts parts() const;
  void keep_phase(CollectiveKind, const SharedPoint&);
  static Rate rate_bound(CollectiveKind, std::vector<Claim>);
  ParetoSet merged(const Parts&, std::vector<SharedPoint>* beaten) const;
  void add_of_few_chunks(const std::vector<Composition>& by_steps, const ParetoSet& merged,
                         std::vector<SharedPoint>& beaten) const;
  void add_of_replaced(const Parts&, std::vector<SharedPoint>& beaten) const;
  std::vector<Composition> compositions(const Parts&) const;
  SharedPoint made(const Composition&) const;
  bool inside(const Cost&) const;
  static bool is_trifle(const Cost&, const ParetoSet& known, double bound);
  int changes() const;
  void assemble(double most_timed) const;  // sends
  void time_all(const std::vector<SharedPoint>& points, const std::vector<SharedPoint>& beaten,
                double most_sends) const;
  std::vector<SharedPoint> fastest_beaten(const std::vector<SharedPoint>& points,
                                          const std::vector<SharedPoint>& beaten) const;
  Result filled(Stopped stopped, double seconds) const;

  Result empty_ = {};
  std::function<double(const Point&, double block_bytes)> us_ = {};  // FrontierOptions::us
  std::vector<double> sizes_ = {};                                   // FrontierOptions::sizes
  const std::atomic<bool>* stop_ = nullptr;                          // of the search
  const std::atomic<bool>* timing_stop_ = nullptr;                   // after it nothing is timed

  mutable std::mutex mutex_;  // of the next two
  Parts parts_ = {};
  mutable std::shared_ptr<const Assembled> latest_;
  mutable std::mutex assembling_;  // of the rest
  mutable int assembled_ = -1;     // Parts::changes of the latest
  mutable std::chrono::steady_clock::time_point next_ =
      {};  // not before: if puts are frequent, not each is assembled
  mutable std::map<const Point*, Known> known_ = {};
  mutable std::map<std::pair<const Point*, const Point*>, SharedPoint> made_ = {};  // null: not sound
};

// Returns them in the form in which results state them.
SearchLimits limits_of(const FrontierOptions&);

// mark() of optimality.h, after every schedule has been verified; a wrong one is a bug and throws
// std::logic_error. What is complete was not stopped; a result of algorithms is so only where none of any
// chunk count has a better rate, since their chunk count was not requested.
void finish_result(Result&);
// The same of a result whose schedules have been verified.
void mark_verified(Result&);

}  // namespace chorale
