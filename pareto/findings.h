// What a search has found until now, and the result that this is: AllReduces are composed of their parts, points merged,
// proofs marked, whenever somebody asks.
#pragma once

#include <map>
#include <mutex>
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
  void put_share(const Key&, const std::vector<Point>&);

  // AllReduces of ReduceScatters and Allgathers of these chunk counts, those that no other dominates.
  std::vector<Point> composed_points(int min_chunks, int max_chunks) const;

  // `stopped`: why the search ended; No: it did not have to.
  Result result(Stopped stopped, double seconds) const;

  bool is_allreduce() const { return empty_.collective.kind == CollectiveKind::AllReduce; }
  const Result& question() const { return empty_; }  // without points and claims

 private:
  std::vector<Point> shared(const Key&) const;

  Result empty_ = {};
  std::function<double(const Point&, double block_bytes)> us_ = {};  // FrontierOptions::us
  mutable std::mutex mutex_;
  std::map<Key, ChunkFrontier> parts_ = {};
  std::map<Key, std::vector<Point>> shares_ = {};
};

// As results tell them.
SearchLimits limits_of(const FrontierOptions&);

// mark() of optimality.h, after every schedule has been verified; a wrong one is a bug and throws
// std::logic_error. What is complete was not stopped.
void finish_result(Result&);

}  // namespace chorale
