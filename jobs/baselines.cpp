// A baseline is timed as it would be used: at each size with the chunk count that is the fastest there, since
// rings and trees are pipelines, and their best number of chunks grows with the message.
#include "jobs/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "construct/classic.h"
#include "cost/cost.h"
#include "cost/program_time.h"

namespace chorale {
namespace {

// Sends of a baseline beyond which more chunks are not tried; and beyond which machines have none: where
// links differ each send is simulated, some two microseconds for each size. Once stopped those are timed
// nevertheless whose sends, at all sizes together, are a tenth of a second; and of machines of more than 64
// ranks one baseline is enough then: the plans of the others take seconds (2.7 of CPU on torus:16x16).
constexpr long long kMaxSimulatedOnceStopped = 30'000;
constexpr int kMaxRanksAllOnceStopped = 64;
constexpr long long kMostBaselineSends = 20'000, kMostSimulated = 300'000, kMostSends = 5'000'000;

// A baseline by its chunk counts.
struct BaselineChunks {
  std::string name = {};
  std::vector<Point> points = {};  // one per chunk count
};

// Its own choice of a chunk count comes first, then powers of two: pipelines gain by more chunks.
BaselineChunks baseline_chunks(Method method, const Topology& topology, Rank root,
                               const std::atomic<bool>* stop) {
  BaselineChunks algorithm{.name = name_of(method)};
  for (const int chunks : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    const bool is_long = chunks > 1 && !algorithm.points.empty() &&
                         2 * total_sends(algorithm.points.back().schedule) > kMostBaselineSends;
    if (is_long || (!algorithm.points.empty() && stop != nullptr && *stop)) break;
    std::optional<Point> point = classic_if_possible(method, topology, {.chunks = chunks, .root = root});
    if (point) algorithm.points.push_back(std::move(*point));
  }
  return algorithm;
}

// Auto is NCCL's where the machine has links for one of its algorithms, and all that are known otherwise.
std::vector<BaselineChunks> algorithms_of(const Topology& topology, const Collective& collective,
                                          BaselineSet set, const std::atomic<bool>* stop) {
  constexpr long long kMostPerPair = 16;  // sends: two phases over eight rings
  const long long most = links_alike(topology) ? kMostSends : kMostSimulated;
  if (kMostPerPair * topology.ranks * topology.ranks > most) return {};
  std::vector<BaselineChunks> nccl, all;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != collective.kind) continue;
    if (!all.empty() && topology.ranks > kMaxRanksAllOnceStopped && stop != nullptr && *stop) break;
    BaselineChunks algorithm = baseline_chunks(entry.method, topology, collective.root, stop);
    if (algorithm.points.empty()) continue;
    if (entry.of_nccl) nccl.push_back(algorithm);
    all.push_back(std::move(algorithm));
  }
  return set == BaselineSet::Mpi || (set == BaselineSet::Auto && nccl.empty()) ? all : nccl;
}

// Points that are the fastest nowhere are dropped, and the others renumbered in the order in which sizes meet
// them. Nothing if at some size no point was timed before the stop.
std::optional<TimedBaseline> timed(BaselineChunks algorithm, const Topology& topology,
                                   const std::vector<std::int64_t>& blocks, const std::atomic<bool>* stop) {
  TimedBaseline baseline{.times = {.name = algorithm.name}};
  std::map<std::size_t, std::size_t> kept;  // by number before: after
  for (const std::int64_t bytes : blocks) {
    std::vector<double> us;
    for (const Point& point : algorithm.points) {
      const bool is_short = total_sends(point.schedule) * std::ssize(blocks) <= kMaxSimulatedOnceStopped;
      us.push_back(point_us(topology, point, static_cast<double>(bytes), is_short ? nullptr : stop)
                       .value_or(std::numeric_limits<double>::infinity()));
    }
    const auto least = std::ranges::min_element(us);
    if (std::isinf(*least)) return {};
    baseline.fastest.push_back(kept.try_emplace(least - us.begin(), kept.size()).first->second);
    baseline.times.us.push_back(*least);
  }
  baseline.points.resize(kept.size());
  for (const auto& [before, after] : kept) baseline.points[after] = std::move(algorithm.points[before]);
  return baseline;
}

}  // namespace

std::span<const Named<BaselineSet>> baseline_sets() {
  static constexpr Named<BaselineSet> kSets[] = {
      {BaselineSet::Auto, "auto"}, {BaselineSet::Nccl, "nccl"}, {BaselineSet::Mpi, "mpi"}};
  return kSets;
}

std::vector<TimedBaseline> timed_baselines(const Topology& topology, const Collective& collective,
                                           BaselineSet set, const std::vector<std::int64_t>& blocks,
                                           const std::atomic<bool>* stop) {
  std::vector<TimedBaseline> baselines;
  for (BaselineChunks& algorithm : algorithms_of(topology, collective, set, stop))
    if (std::optional<TimedBaseline> each = timed(std::move(algorithm), topology, blocks, stop))
      baselines.push_back(*std::move(each));
  return baselines;
}

}  // namespace chorale
