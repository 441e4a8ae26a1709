// Runs everything that this room has: the catalogue of baseline algorithms, tried and discarded where the
// machine or the number of chunks does not fit, and the constructions that fit everywhere.
//
// Only the remaining ones are verified, which costs more than making them.
#include "construct/incumbents.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "construct/baselines/classic.h"
#include "construct/engine/solved_question.h"
#include "construct/engine/spreading.h"
#include "construct/exact/disjoint_trees.h"
#include "construct/exact/product_alltoall.h"
#include "construct/exact/tree_growth.h"
#include "construct/exact/tree_union.h"
#include "construct/fixed_order.h"
#include "construct/in_network.h"
#include "construct/more_steps.h"
#include "construct/sums.h"
#include "graph/automorphisms.h"
#include "ir/error.h"
#include "ir/schedule.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

// Sends examined by all constructions together: about a second. The first construction runs in any case.
constexpr long long kEffort = 3'000'000;

// An int or two are kept per chunk and rank, and baselines and routed schedules for sums examine all
// contributions.
bool too_large(const Topology& topology, const Collective& collective) {
  const double held = static_cast<double>(collective.chunks.size()) * topology.ranks;
  return held > 1 << 27 || held * (collective.combining ? topology.ranks : 1) > 1 << 30;
}

// Growth keeps little but sends: a dozen bytes in each of a few schedules, and as much for the verifier,
// which has one chunk at a time (semantics/verify.h). The limit is 2 GiB. A chunk that goes to one rank is
// halfway across the machine on average.
bool too_many_sends(const Topology& topology, const Collective& collective) {
  constexpr double kMostSends = 1 << 25;
  double sends = 0;
  bool one_each = true;
  for (const ChunkSpec& spec : collective.chunks) {
    sends += static_cast<double>(spec.post.size() + (collective.combining ? spec.pre.size() : 0));
    one_each = one_each && spec.post.size() <= 1;
  }
  if (one_each && !collective.combining) sends *= (std::ranges::max(hops(topology, {0})) + 1) / 2.0;
  return sends > kMostSends;
}

// When generators are called.
enum When : unsigned {
  kOutOfTime = 1,   // quick_incumbents
  kAlways = 2,      // incumbents
  kTransitive = 4,  // regular_incumbents, where symmetries carry each rank to each: the first that suits
  kSymmetric =
      256,  // the same, of links alone: where limits are shared, schedules of one cost differ in time
  kNotTransitive = 8,  // and where they do not
  kWithTime = 16,      // grown_incumbents
  kInSwitches = 32,    // switch_incumbents
  kByCatalogue = 64,   // incumbents, by the rows of construct/baselines/classic.h
  kByEngine = 128,     // construct/engine.h
};

}  // namespace

// Of points that cost the same that of the first row stays.
std::span<const Generator> generators() {
  using Question = const GeneratorQuestion&;
  static constexpr Generator kRows[] = {
      {"classic", "baselines: rings, trees, halving and doubling, hierarchies", Needs::Anything,
       kByCatalogue},
      {"sums", "sums in few steps, and at balanced roots", Needs::Sums, kOutOfTime | kAlways,
       [](Question q) { return add_up(q.topology, q.collective, q.effort, q.limits.extra); }},
      {"spreading", "copies in few steps of any width", Needs::Copies, kOutOfTime | kAlways,
       [](Question q) { return spread(q.topology, q.collective, q.effort); }},
      {"fixed_order", "sums along one combination tree", Needs::Sums, kOutOfTime | kAlways,
       [](Question q) { return sums_in_order(q.topology, q.collective, q.effort); }},
      {"in_network", "copies and sums that switches make", Needs::Anything, kAlways | kInSwitches,
       [](Question q) { return in_network(q.topology, q.collective); }},
      {"tree_growth", "copies over shortest paths", Needs::Copies, kTransitive | kWithTime,
       [](Question q) { return grow_trees(q.topology, q.collective, q.limits.stop); }},
      {"product_alltoall", "Alltoall of rows and columns", Needs::Copies, kNotTransitive,
       [](Question q) { return product_alltoall(q.topology, q.collective, q.limits.stop); }},
      {"timed_packing", "trees and paths in few steps, at prices of links in steps", Needs::Anything,
       kSymmetric | kWithTime,
       [](Question q) {
         return timed_packing(q.topology, q.collective, q.known, q.limits.bound, q.limits.stop,
                              q.limits.work);
       }},
      {"disjoint_trees", "trees that fill links", Needs::Copies, kByEngine, nullptr,
       [](const TreesQuestion& q) {
         return disjoint_trees(q.network, q.classes, q.chunks, q.rounds, q.effort);
       }},
      {"tree_union", "AllReduce on spanning trees, where links have equal rates in both directions",
       Needs::Sums, kByEngine, nullptr,
       [](const TreesQuestion& q) { return tree_union(q.network.topology(), q.chunks); }},
      {"packing", "trees and paths at prices of links, rounded and put into steps", Needs::Anything,
       kByEngine},
      {"composition", "schedules of groups, stage after stage and overlapped", Needs::Anything, kByEngine},
  };
  return kRows;
}

const Generator& generator_named(const std::string& name) {
  return *std::ranges::find(generators(), name, &Generator::name);
}

namespace {

bool suits(const Generator& each, const Collective& collective, unsigned when, const std::string& without) {
  return each.make != nullptr && (each.when & when) && each.name != without &&
         (each.needs == Needs::Anything || collective.combining == (each.needs == Needs::Sums));
}

// What the generators of that time make, in their order, as `point_of` has it; the first that suits where
// each rank does what others do.
template <typename PointOf>
std::vector<Point> made_by_generators(const Topology& topology, const Collective& collective, unsigned when,
                                      WorkBudget& effort, const GeneratorLimits& limits,
                                      const std::string& without, const PointOf& point_of) {
  std::vector<Schedule> known;
  std::vector<Point> points;
  for (const Generator& each : generators())
    if (suits(each, collective, when, without) && (!(when & kTransitive) || known.empty()))
      for (Schedule& schedule : each.make({topology, collective, effort, known, limits})) {
        known.push_back(schedule);
        points.push_back(point_of(std::move(schedule), each.name));
      }
  return points;
}

// Most of what is made here counts every send; where switches multicast or reduce, steps may need fewer
// rounds.
std::vector<Point> recounted(const Topology& topology, std::vector<Point> points) {
  if (!abilities_of(topology).any()) return points;
  for (Point& point : points) {
    for (Step& step : point.schedule.steps) step.rounds = needed_rounds(topology, step);
    point.cost.rounds = total_rounds(point.schedule);
  }
  return points;
}

// Only those that are k-synchronous, or can be split to be so; split ones no longer have the name of their
// algorithm.
std::vector<Point> within(int extra, const Topology& topology, std::vector<Point> points) {
  std::vector<Point> kept;
  for (Point& point : points) {
    const Cost before = point.cost;
    if (!fit_in_more_steps(topology, point, extra)) continue;
    if (point.cost != before) point.method = Method::Direct;
    kept.push_back(std::move(point));
  }
  return kept;
}

// An algorithm counts chunks of what it moves: of an AllReduce by parts, each rank's part.
std::vector<int> chunk_counts(const Collective& collective) {
  const int chunks = collective.chunks_per_block;
  if (collective.kind != CollectiveKind::AllReduce || chunks % collective.ranks != 0) return {chunks};
  return {chunks, chunks / collective.ranks};
}

// All that the catalogue has for this kind. An algorithm that takes the chunks otherwise than they are asked
// for makes another collective, and is dropped.
std::vector<Point> hand_written(const Machine& machine, const Collective& collective,
                                const WorkBudget& effort) {
  // Ranks times ranks times chunks are the sends of most; more than that is made only to be thrown away.
  constexpr double kMostSends = 1 << 22;
  if (is_custom(collective) || collective.ranks < 2 ||
      static_cast<double>(collective.ranks) * collective.ranks * collective.chunks_per_block > kMostSends)
    return {};
  std::vector<Point> points;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != collective.kind) continue;
    for (int chunks : chunk_counts(collective)) {
      if (effort.stopped()) return points;
      std::optional<Point> point = classic_if_possible(
          entry.method, machine, {.chunks = chunks, .order = {}, .root = collective.root});
      if (!point) continue;
      point->collective.order = collective.order;
      if (point->collective == collective) points.push_back(*std::move(point));
    }
  }
  return points;
}

// The Pareto-optimal points, by steps, verified; of equal ones the first, so that a baseline goes before a
// construction of ours. Points that do not add up in the requested order are dropped, and points that they
// dominated return.
std::vector<Point> sound(const Topology& topology, const Collective& collective, std::vector<Point> points,
                         const std::atomic<bool>* stop, int extra) {
  // Split into more steps before dominated points are dropped: a point of few steps that cannot be split must
  // not have hidden one that can.
  points = within(extra, topology, recounted(topology, std::move(points)));
  std::ranges::stable_sort(points, {}, [](const Point& p) { return std::pair(p.cost.steps, p.cost.rounds); });
  std::vector<Point> sound;
  for (Point& point : points) {
    if (stop != nullptr && *stop) break;
    if (!sound.empty() && point.cost.rounds >= sound.back().cost.rounds) continue;
    const auto wrong = violations(topology, collective, point.schedule, 1);
    if (wrong.empty())
      sound.push_back(std::move(point));
    else if (wrong.front().kind != Fault::Kind::Order)
      throw std::logic_error("a schedule of our own construction (" + name_of(point.method) +
                             ") is wrong: " + wrong.front().words);
  }
  return sound;
}

// Of the question as it is asked.
std::vector<Point> as_asked(const Topology& topology, const Collective& collective, int extra, unsigned when,
                            WorkBudget& effort, const std::string& without = {}) {
  return made_by_generators(topology, collective, when, effort, {.extra = extra}, without,
                            [&](Schedule schedule, const char* name) {
                              Point point{.construction = name, .collective = collective};
                              point.cost = cost_of(schedule, collective.chunks_per_block);
                              point.schedule = std::move(schedule);
                              return point;
                            });
}

// Of sums with one destination as copies.
std::vector<Point> as_solved(const Topology& topology, const Collective& collective, unsigned when,
                             const std::atomic<bool>* stop, int extra, const std::string& without,
                             long long work = kTimedWork) {
  const SolvedQuestion solved(topology, collective);
  LowerBounds bounds(topology, collective, stop);
  WorkBudget effort(kEffort, stop);
  return sound(
      topology, collective,
      made_by_generators(solved.topology, solved.collective, when, effort,
                         {.stop = stop, .bound = [&] { return bounds.fewest_rounds().rounds; }, .work = work},
                         without,
                         [&](Schedule schedule, const char* name) {
                           return solved.point(std::move(schedule), collective, name);
                         }),
      stop, extra);
}

}  // namespace

bool starts_somewhere(const Collective& collective) {
  return std::ranges::none_of(collective.chunks, [](const ChunkSpec& spec) { return spec.pre.empty(); });
}

std::vector<Point> incumbents(const Machine& machine, const Collective& collective,
                              const std::atomic<bool>* stop, int extra, const std::string& without) {
  const Topology& topology = machine.topology();
  assert(topology.ranks == collective.ranks);
  if (too_large(topology, collective) || !starts_somewhere(collective)) return {};
  WorkBudget effort(kEffort, stop);
  // Baselines first: of points that cost the same the first one stays.
  std::vector<Point> points;
  if (without != "classic") points = hand_written(machine, collective, effort);
  std::ranges::move(as_asked(topology, collective, extra, kAlways, effort, without),
                    std::back_inserter(points));
  return sound(topology, collective, std::move(points), stop, extra);
}

std::vector<Point> quick_incumbents(const Topology& topology, const Collective& collective, int extra) {
  constexpr double kQuick = 1 << 18;  // entries of chunks, ranks and, of sums, words of contributions
  const double entries = static_cast<double>(collective.chunks.size()) * topology.ranks;
  if (entries * (collective.combining ? (topology.ranks + 63) / 64 : 1) > kQuick ||
      !starts_somewhere(collective))
    return {};
  WorkBudget none(0, nullptr);
  return sound(topology, collective, as_asked(topology, collective, extra, kOutOfTime, none), nullptr, extra);
}

std::vector<Point> switch_incumbents(const Topology& topology, const Collective& collective,
                                     const std::atomic<bool>* stop, int extra) {
  if (too_large(topology, collective) || !starts_somewhere(collective)) return {};
  WorkBudget effort(kEffort, stop);
  return sound(topology, collective, as_asked(topology, collective, extra, kInSwitches, effort), stop, extra);
}

std::vector<Point> regular_incumbents(const Topology& topology, const Collective& collective,
                                      const std::atomic<bool>* stop, int extra, const std::string& without) {
  const CollectiveKind kind = collective.kind;
  if (kind != CollectiveKind::Allgather && kind != CollectiveKind::Alltoall &&
      !(kind == CollectiveKind::ReduceScatter && has_copying_dual(collective)))
    return {};
  if (too_large(topology, collective) && too_many_sends(topology, collective)) return {};
  const bool transitive = std::ssize(digit_shifts(topology)) == topology.ranks;
  const unsigned alone = topology.limits.empty() ? kTransitive | kSymmetric : kTransitive;
  return as_solved(topology, collective, transitive ? alone : kNotTransitive, stop, extra, without);
}

std::vector<Point> grown_incumbents(const Topology& topology, const Collective& collective,
                                    const std::atomic<bool>* stop, int extra, const std::string& without,
                                    long long work) {
  assert(topology.switches == 0 && topology.ranks == collective.ranks);
  if (too_large(topology, collective) && too_many_sends(topology, collective)) return {};
  if (!starts_somewhere(collective) || (stop != nullptr && *stop)) return {};
  return as_solved(topology, collective, kWithTime, stop, extra, without, work);
}

}  // namespace chorale
