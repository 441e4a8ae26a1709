// What a search has found until now, and the result that this is. AllReduces are composed of their parts,
// points merged and verified, proofs marked as points come, each point once; so what is asked for is there
// already.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ir/search_options.h"
#include "pareto/chunk_search.h"

namespace chorale {

// Told by the threads of a search; anyone may ask at any time.
class Findings {
 public:
  Findings(const Topology&, const Collective& asked, const FrontierOptions&);

  // One collective with one chunk count.
  using Key = std::pair<CollectiveKind, int>;

  // All that is known of it by now.
  void put(const Key&, const ChunkFrontier&);
  // Points of a part that are of use with another only, since the two share the k.
  void put_share(const Key&, const std::vector<SharedPoint>&);
  // A claim for any number of steps. It says something of all chunk counts of the space: it stands for those
  // of which no more is claimed.
  void put_bound(const Claim&);

  // Finds out times of what was put, until the search is stopped; what takes long.
  void time();

  // AllReduces of ReduceScatters and Allgathers of these chunk counts, those that no other dominates.
  std::vector<SharedPoint> composed_points(int min_chunks, int max_chunks) const;

  // Of all that was put. `stopped`: why the search ended; No: it did not have to.
  Result result(Stopped stopped, double seconds) const;
  // What is there, while the search goes on: nothing is timed, and nobody is waited for.
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
    std::map<Key, ChunkFrontier> told = {};
    std::map<Key, std::vector<SharedPoint>> shares = {};
    std::map<CollectiveKind, Claim> bounds = {};
    std::map<CollectiveKind, Rate> rates = {};  // that those bounds show
    int changes = 0;
  };
  static constexpr std::array kSizes = {1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
  using Times = std::array<double, kSizes.size()>;
  // What was found out of a point; `point` keeps its address from being another's.
  struct Known {
    SharedPoint point = {};
    bool sound = false;
    std::optional<Times> us = {};
  };

  std::vector<SharedPoint> shared(const Parts&, const Key&) const;
  std::vector<SharedPoint> composed_points(const Parts&, int min_chunks, int max_chunks) const;
  SharedPoint composed(const SharedPoint& scatter, const SharedPoint& gather) const;
  SharedPoint gathered(const SharedPoint& gather) const;
  void assemble(bool with_times) const;
  void time_all(const std::vector<SharedPoint>& points) const;
  std::vector<SharedPoint> fastest_beaten(const std::vector<SharedPoint>& points,
                                          const std::vector<SharedPoint>& beaten) const;
  std::vector<Claim> claims_of_bounds(const Parts&, const Result& known) const;
  Result filled(Stopped stopped, double seconds) const;

  Result empty_ = {};
  std::function<double(const Point&, double block_bytes)> us_ = {};  // FrontierOptions::us
  const std::atomic<bool>* stop_ = nullptr;                          // after it nothing is timed

  mutable std::mutex mutex_;  // of the next two
  Parts parts_ = {};
  mutable std::shared_ptr<const Assembled> latest_;
  mutable std::mutex assembling_;  // of the rest
  mutable int assembled_ = -1;     // Parts::changes of the latest
  mutable std::chrono::steady_clock::time_point next_ =
      {};  // not before: where much is told, not all is assembled
  mutable std::map<const Point*, Known> known_ = {};
  mutable std::map<std::pair<const Point*, const Point*>, SharedPoint> composed_ = {};  // null: not sound
};

// As results tell them.
SearchLimits limits_of(const FrontierOptions&);

// mark() of optimality.h, after every schedule has been verified; a wrong one is a bug and throws
// std::logic_error. What is complete was not stopped; a result of algorithms is so only where none of any
// chunk count has a better rate, since nobody asked for their chunk count.
void finish_result(Result&);
// The same of a result whose schedules have been verified.
void mark_verified(Result&);

}  // namespace chorale
